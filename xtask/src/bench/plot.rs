//! The plot: CPU and memory against the number of objects, as an SVG written by hand.

use std::fmt::Write as _;

use super::Side;
use super::metrics::Samples;
use super::scale::{CURVES, OBJECTS, ids};

/// Whose it is, what it shows, and its points.
type Curve = (Side, &'static str, Vec<(usize, f64)>);

/// Both axes of a panel are logarithmic: a straight line with the slope of the grid is a constant cost per object.
struct Panel<'a> {
    title: &'a str,
    left: f64,
    /// The smallest and the largest value of the axis, as powers of ten.
    decades: (i32, i32),
    tick: fn(i32) -> String,
    points: Vec<Curve>,
}

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 300.0;
const TOP: f64 = 56.0;

/// Colours that can be told apart on white and on black, also by those who do not see red or green.
fn style(side: Side, format: &str) -> (&'static str, &'static str) {
    match (side, format) {
        (Side::Ours, "typed") => ("#0072b2", "none"),
        (Side::KubeRuntime, _) => ("#d55e00", "none"),
        (Side::ClientGo, _) => ("#009e73", "none"),
        (_, "metadata") => ("#56b4e9", "6 3"),
        (_, "projection") => ("#cc79a7", "6 3"),
        _ => ("#8a6fd1", "6 3"),
    }
}

pub(crate) fn svg(samples: &Samples) -> String {
    let curve = |wanted: fn((String, String)) -> String| {
        let points = |side: Side, format: &str| -> Vec<(usize, f64)> {
            let value = |objects: usize| samples.median(&wanted(ids(format, objects)), side);
            OBJECTS.iter().filter_map(|objects| Some((*objects, value(*objects)?))).collect()
        };
        let curves = CURVES.iter().map(|(side, format)| (*side, *format, points(*side, format)));
        curves.filter(|(_, _, points)| !points.is_empty()).collect::<Vec<_>>()
    };
    let panels = [
        Panel {
            title: "CPU to first sync",
            left: 70.0,
            decades: (0, 5),
            tick: |power| if power < 3 { format!("{} ms", 10_u32.pow(power as u32)) } else { seconds(power) },
            points: curve(|(cpu, _)| cpu),
        },
        Panel {
            title: "Resident memory after sync",
            left: 510.0,
            decades: (0, 4),
            tick: |power| {
                if power < 3 { format!("{} MB", 10_u32.pow(power as u32)) } else { gigabytes(power) }
            },
            points: curve(|(_, memory)| memory),
        },
    ];
    let mut text = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 470\" font-family=\"system-ui, sans-serif\" \
         font-size=\"13\" role=\"img\" aria-label=\"CPU and memory against the number of Pods\">\n\
         <rect width=\"880\" height=\"470\" fill=\"#ffffff\"/>\n",
    );
    for panel in &panels {
        panel.draw(&mut text);
    }
    legend(&panels[0], &mut text);
    text.push_str("</svg>\n");
    text
}

fn seconds(power: i32) -> String {
    format!("{} s", 10_u32.pow(power as u32 - 3))
}

fn gigabytes(power: i32) -> String {
    format!("{} GB", 10_u32.pow(power as u32 - 3))
}

impl Panel<'_> {
    fn draw(&self, text: &mut String) {
        let (left, right, bottom) = (self.left, self.left + WIDTH, TOP + HEIGHT);
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"{}\" font-size=\"16\" font-weight=\"600\" fill=\"#222222\">{}</text>",
            TOP - 20.0,
            self.title
        );
        for power in self.decades.0..=self.decades.1 {
            let y = self.y(10_f64.powi(power));
            let _ = writeln!(
                text,
                "<path d=\"M{left} {y:.1}H{right}\" stroke=\"#dddddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\">{}</text>",
                left - 8.0,
                y + 4.5,
                (self.tick)(power)
            );
        }
        for objects in OBJECTS {
            let x = self.x(objects);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#eeeeee\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">{} k</text>",
                bottom + 20.0,
                objects / 1_000
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\">Pods of 5.5 KB</text>",
            left + WIDTH / 2.0,
            bottom + 40.0
        );
        for (side, format, points) in &self.points {
            let (colour, dashes) = style(*side, format);
            let place = |(objects, value): &(usize, f64)| (self.x(*objects), self.y(*value));
            let line: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dashes}\"/>",
                line.join(" ")
            );
            for (x, y) in points.iter().map(place) {
                let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
            }
        }
    }

    fn x(&self, objects: usize) -> f64 {
        let [first, .., last] = OBJECTS.map(|objects| (objects as f64).log10());
        self.left + 12.0 + (WIDTH - 24.0) * ((objects as f64).log10() - first) / (last - first)
    }

    fn y(&self, value: f64) -> f64 {
        let (first, last) = (f64::from(self.decades.0), f64::from(self.decades.1));
        let share = (value.max(f64::MIN_POSITIVE).log10() - first) / (last - first);
        TOP + HEIGHT * (1.0 - share.clamp(0.0, 1.0))
    }
}

/// Three names to a line.
fn legend(panel: &Panel<'_>, text: &mut String) {
    for (at, (side, format, _)) in panel.points.iter().enumerate() {
        let (colour, dashes) = style(*side, format);
        let name = match *format {
            "typed" => side.name().to_owned(),
            _ => format!("{}, {format}", side.name()),
        };
        let (x, y) = (130.0 + 250.0 * (at % 3) as f64, TOP + HEIGHT + 70.0 + 24.0 * (at / 3) as f64);
        let _ = writeln!(
            text,
            "<path d=\"M{x:.1} {y}h24\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dashes}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#222222\">{name}</text>",
            x + 32.0,
            y + 4.5
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::metrics::Unit;

    #[test]
    fn every_curve_and_its_name_are_drawn() {
        let mut samples = Samples::default();
        for (at, (side, format)) in CURVES.into_iter().enumerate() {
            for objects in OBJECTS {
                let (cpu, memory) = ids(format, objects);
                samples.add(side, &cpu, "", Unit::Milliseconds, (objects * (at + 1)) as f64 / 30.0);
                samples.add(side, &memory, "", Unit::Megabytes, (objects * (at + 1)) as f64 / 100.0);
            }
        }
        let svg = svg(&samples);
        assert_eq!(svg.matches("<polyline").count(), 2 * CURVES.len());
        for name in ["informer", "kube-runtime", "client-go", "informer, metadata", "informer, packed"] {
            assert_eq!(svg.matches(&format!(">{name}</text>")).count(), 1, "{name}");
        }
        // To be looked at.
        if let Some(path) = std::env::var_os("INFORMER_PLOT") {
            std::fs::write(path, &svg).unwrap();
        }
    }

    #[test]
    fn without_measurements_there_are_only_axes() {
        assert_eq!(svg(&Samples::default()).matches("<polyline").count(), 0);
    }
}
