// client-go's side of the benchmark: shared informers with their defaults, driven through standard input by the words
// that bench/src/bin/bench-client/main.rs lists.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type answer map[string]any

func main() {
	url := flag.String("url", "", "the benchmark's own server")
	kubeconfig := flag.String("kubeconfig", "", "a real server")
	format := flag.String("format", "typed", "what is cached of an object: typed, metadata or dynamic")
	handlers := flag.Int("handlers", 1, "how many handlers each informer has")
	count := flag.Int("informers", 1, "how many informers: several are of a namespace each, that has no objects")
	last := flag.String("last", "", "NAMESPACE/NAME of the last object")
	queue := flag.String("queue", "", "only print this figure of the work queue")
	flag.Parse()
	if *queue != "" {
		queueFigure(*queue)
		return
	}
	config := &rest.Config{Host: *url}
	if *kubeconfig != "" {
		var err error
		config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig)
		check(err)
	}
	// Only requests that nobody waits for are held up by client-go's own limit of 5 a second.
	if *count > 1 {
		config.QPS = -1
	}
	subject, err := newSubject(config, *format, *count, *handlers, *last)
	check(err)
	say(answer{"ready": true})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		started := time.Now()
		said := subject.answer(words)
		said["wall_ns"] = time.Since(started).Nanoseconds()
		say(said)
	}
}

func (s *subject) answer(words []string) answer {
	number := func(at int) int {
		if at >= len(words) {
			check(fmt.Errorf("not understood: %v", words))
		}
		number, err := strconv.Atoi(words[at])
		check(err)
		return number
	}
	switch words[0] {
	case "start":
		return s.start()
	case "await":
		version := int64(number(1))
		for _, handler := range s.handlers {
			handler.wait(version)
		}
		return answer{"told": s.told()}
	case "prepare":
		s.prepare()
		return answer{}
	case "get":
		s.prepare()
		return s.reads.get(number(1), time.Duration(number(2))*time.Millisecond)
	case "look":
		s.prepare()
		return s.reads.look(number(1))
	case "namespace":
		s.prepare()
		return s.reads.namespace(number(1))
	case "label":
		s.prepare()
		return s.reads.label(number(1))
	case "select":
		s.prepare()
		return s.reads.selectLabel(number(1))
	}
	check(fmt.Errorf("not understood: %v", words))
	return nil
}

func say(said answer) {
	line, err := json.Marshal(said)
	check(err)
	_, err = os.Stdout.Write(append(line, '\n'))
	check(err)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
