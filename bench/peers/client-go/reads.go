package main

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// Reads between looks at the clock.
const batch = 1024

// Reads of the indexer, as many as the driver asks for.
type reads struct {
	indexer    cache.Indexer
	keys       []string
	namespaces []string
	labels     []string
}

func newReads(indexer cache.Indexer) *reads {
	sorted := indexer.ListKeys()
	slices.Sort(sorted)
	var namespaces []string
	for _, key := range sorted {
		namespace, _, _ := strings.Cut(key, "/")
		namespaces = append(namespaces, namespace)
	}
	values := indexer.ListIndexFuncValues(label)
	slices.Sort(values)
	// As the library's side does it.
	keys := make([]string, len(sorted))
	for at := range keys {
		keys[at] = sorted[at*(15485863%len(sorted))%len(sorted)]
	}
	return &reads{indexer, keys, slices.Compact(namespaces), values}
}

// Gets by key in some goroutines for some time.
func (r *reads) get(readers int, limit time.Duration) answer {
	var isOver atomic.Bool
	var found atomic.Int64
	var group sync.WaitGroup
	started := time.Now()
	for reader := range readers {
		group.Go(func() {
			at, here := reader*len(r.keys)/readers, int64(0)
			for !isOver.Load() {
				for range batch {
					if _, exists, _ := r.indexer.GetByKey(r.keys[at]); exists {
						here++
					}
					if at++; at == len(r.keys) {
						at = 0
					}
				}
			}
			found.Add(here)
		})
	}
	time.Sleep(limit)
	isOver.Store(true)
	group.Wait()
	return answer{"iterations": found.Load(), "read_ns": time.Since(started).Nanoseconds()}
}

// Gets by key, and looks at what it got.
func (r *reads) look(iterations int) answer {
	bytes := 0
	for at := range iterations {
		if found, exists, _ := r.indexer.GetByKey(r.keys[at%len(r.keys)]); exists {
			object, err := meta.Accessor(found)
			check(err)
			bytes += len(object.GetLabels()[label])
		}
	}
	return answer{"iterations": iterations, "bytes": bytes}
}

func (r *reads) namespace(iterations int) answer {
	objects := 0
	for at := range iterations {
		objects += r.list(r.namespaces[at%len(r.namespaces)], labels.Everything())
	}
	return answer{"iterations": iterations, "objects": objects}
}

func (r *reads) label(iterations int) answer {
	objects := 0
	for at := range iterations {
		found, err := r.indexer.ByIndex(label, r.labels[at%len(r.labels)])
		check(err)
		objects += len(found)
	}
	return answer{"iterations": iterations, "objects": objects}
}

func (r *reads) selectLabel(iterations int) answer {
	objects := 0
	for at := range iterations {
		selector, err := labels.Parse(label + "=" + r.labels[at%len(r.labels)])
		check(err)
		objects += r.list(r.namespaces[at%len(r.namespaces)], selector)
	}
	return answer{"iterations": iterations, "objects": objects}
}

// As the typed listers of a namespace do it.
func (r *reads) list(namespace string, selector labels.Selector) int {
	var found []any
	add := func(object any) { found = append(found, object) }
	check(cache.ListAllByNamespace(r.indexer, namespace, selector, add))
	return len(found)
}
