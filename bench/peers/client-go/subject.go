package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The label that has an index, and the index's name.
const label = "app"

type subject struct {
	informers []cache.SharedIndexInformer
	handlers  []*handler
	synced    []cache.InformerSynced
	reads     *reads
}

// What a handler has been told: how much, and the last object's version.
type handler struct {
	namespace, name string
	told            atomic.Int64
	lock            sync.Mutex
	grown           *sync.Cond
	version         int64
}

func newSubject(config *rest.Config, format string, count, handlers int, last string) (*subject, error) {
	s := &subject{}
	namespace, name, err := cache.SplitMetaNamespaceKey(last)
	if err != nil {
		return nil, err
	}
	for number := range count {
		where := metav1.NamespaceAll
		if count > 1 {
			where = fmt.Sprintf("empty-%d", number)
		}
		informer, err := newInformer(config, format, where)
		if err != nil {
			return nil, err
		}
		// What the factories' WithTransform does, for all formats alike.
		if err := informer.SetTransform(stripManagedFields); err != nil {
			return nil, err
		}
		if err := informer.AddIndexers(cache.Indexers{label: byLabel}); err != nil {
			return nil, err
		}
		for range handlers {
			h := &handler{namespace: namespace, name: name}
			h.grown = sync.NewCond(&h.lock)
			registration, err := informer.AddEventHandler(h)
			if err != nil {
				return nil, err
			}
			s.handlers = append(s.handlers, h)
			s.synced = append(s.synced, registration.HasSynced)
		}
		s.informers = append(s.informers, informer)
	}
	return s, nil
}

func newInformer(config *rest.Config, format, namespace string) (cache.SharedIndexInformer, error) {
	switch format {
	case "typed":
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
		return factory.Core().V1().Pods().Informer(), nil
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, namespace, nil)
		return factory.ForResource(pods).Informer(), nil
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		widgets := schema.GroupVersionResource{Group: "bench.example.dev", Version: "v1", Resource: "widgets"}
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
		return factory.ForResource(widgets).Informer(), nil
	}
	return nil, fmt.Errorf("no format is called %s", format)
}

func stripManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func byLabel(object any) ([]string, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	if value, ok := accessor.GetLabels()[label]; ok {
		return []string{value}, nil
	}
	return nil, nil
}

func (s *subject) start() answer {
	for _, informer := range s.informers {
		go informer.Run(context.Background().Done())
	}
	for _, informer := range s.informers {
		s.synced = append(s.synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(context.Background().Done(), s.synced...) {
		check(fmt.Errorf("not synced"))
	}
	objects := 0
	for _, informer := range s.informers {
		objects += len(informer.GetStore().ListKeys())
	}
	return answer{"objects": objects, "told": s.told()}
}

func (s *subject) prepare() {
	if s.reads == nil {
		s.reads = newReads(s.informers[0].GetIndexer())
	}
}

func (s *subject) told() int64 {
	var told int64
	for _, handler := range s.handlers {
		told += handler.told.Load()
	}
	return told
}

func (h *handler) OnAdd(object any, _ bool) { h.see(object) }

func (h *handler) OnUpdate(_, object any) { h.see(object) }

func (h *handler) OnDelete(any) {}

func (h *handler) see(object any) {
	h.told.Add(1)
	accessor, err := meta.Accessor(object)
	check(err)
	if accessor.GetName() != h.name || accessor.GetNamespace() != h.namespace {
		return
	}
	version, err := strconv.ParseInt(accessor.GetResourceVersion(), 10, 64)
	check(err)
	h.lock.Lock()
	h.version = version
	h.lock.Unlock()
	h.grown.Broadcast()
}

// Waits until the last object was told at this version or later.
func (h *handler) wait(version int64) {
	h.lock.Lock()
	for h.version < version {
		h.grown.Wait()
	}
	h.lock.Unlock()
}
