package main

import (
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	queueKeys   = 20_000
	queueBurst  = 100
	queueCycles = 2_000_000
	queueMany   = 1_000_000
	queueDelay  = 2 * time.Second
)

// queueFigure prints one figure of client-go's work queue, as bench/src/bin/bench-queue/main.rs does of ours. No metrics
// provider is set, so it measures nothing. CPU is the process's, the garbage collector's included.
func queueFigure(figure string) {
	var value float64
	switch figure {
	case "shell":
		queue, names := workqueue.NewTyped[string](), shuffledNames(queueKeys)
		value = cpuPer(queueCycles, func() {
			queueWork(queue, names, queueCycles/queueKeys, queue.Done)
		})
	case "shell-limited":
		queue, names := limitedQueue(), shuffledNames(queueKeys)
		value = cpuPer(queueCycles, func() {
			queueWork(queue, names, queueCycles/queueKeys, func(key string) {
				queue.Forget(key)
				queue.Done(key)
			})
		})
	case "delayed-shell":
		value = queueDelayed()
	case "bytes":
		value = queueBytes()
	case "one-thread":
		value = queueThreads(1)
	case "two-threads":
		value = queueThreads(2)
	default:
		check(fmt.Errorf("no such figure: %s", figure))
	}
	fmt.Println(value)
}

// limitedQueue is what a controller has.
func limitedQueue() workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

func queueNames(count int) []string {
	names := make([]string, count)
	for number := range names {
		names[number] = fmt.Sprintf("team-%d/web-7d9f8b6c5-%06d", number%40, number)
	}
	return names
}

func shuffledNames(count int) []string {
	names := queueNames(count)
	random := rand.New(rand.NewSource(7))
	random.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	return names
}

func queueWork(queue workqueue.TypedInterface[string], keys []string, times int, done func(string)) {
	for range times {
		for at := 0; at < len(keys); at += queueBurst {
			burst := keys[at : at+queueBurst]
			for _, key := range burst {
				queue.Add(key)
			}
			for range burst {
				key, _ := queue.Get()
				done(key)
			}
		}
	}
}

func queueDelayed() float64 {
	names, random := queueNames(queueMany), rand.New(rand.NewSource(3))
	delays := make([]time.Duration, queueMany)
	for at := range delays {
		delays[at] = time.Duration(1 + random.Int63n(int64(queueDelay)))
	}
	queue := limitedQueue()
	return cpuPer(queueMany, func() {
		for at, name := range names {
			queue.AddAfter(name, delays[at])
		}
		for range names {
			key, _ := queue.Get()
			queue.Done(key)
		}
	})
}

// queueBytes is what lives, not what the collector has not yet looked at.
func queueBytes() float64 {
	names, queue := queueNames(queueMany), limitedQueue()
	live := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := live()
	for _, name := range names {
		queue.Add(name)
	}
	grown := live() - before
	runtime.KeepAlive(queue)
	runtime.KeepAlive(names)
	return float64(grown) / queueMany
}

// queueThreads adds each key once: one that came again while the thread that took it is held up would be one less to take.
func queueThreads(count int) float64 {
	runtime.GOMAXPROCS(count)
	queue, keys := workqueue.NewTyped[string](), shuffledNames(queueMany)
	part := len(keys) / count
	var all sync.WaitGroup
	started := time.Now()
	for at := range count {
		own := keys[at*part : (at+1)*part]
		all.Go(func() { queueWork(queue, own, 1, queue.Done) })
	}
	all.Wait()
	return queueMany / time.Since(started).Seconds() / 1e6
}

func cpuPer(count int, act func()) float64 {
	before := cpuTime()
	act()
	return float64((cpuTime() - before).Nanoseconds()) / float64(count)
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
