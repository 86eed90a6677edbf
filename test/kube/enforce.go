package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"shoal/test/kube/policy"
)

var networkPolicies = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}

// After a change, the enforcer waits this long for further ones: objects often change together, and one transaction of nftables applies
// all of them.
const settleTime = 20 * time.Millisecond

// enforceCommand enforces the NetworkPolicies of the cluster on one node, in whose network namespace it runs.
func enforceCommand() *cobra.Command {
	var kubeconfig, node, podRange string
	command := &cobra.Command{
		Use: "enforce-policies",
		RunE: func(*cobra.Command, []string) error {
			prefix, err := netip.ParsePrefix(podRange)
			if err != nil {
				return err
			}
			return enforce(genericserver.SetupSignalContext(), kubeconfig, node, prefix)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "file with the address of the API server and a user who may list pods, namespaces and policies")
	command.Flags().StringVar(&node, "node", "", "name of the node")
	command.Flags().StringVar(&podRange, "pod-range", "", "the addresses of the node's pods")
	return command
}

// enforcer keeps the nftables rules of one node up to date.
type enforcer struct {
	node       string
	podRange   netip.Prefix
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   cache.GenericLister
	events     record.EventRecorder
	// Has an item if objects changed since they were last read.
	changed chan struct{}
	// The last script that nft accepted.
	applied string
	// Why policies cannot be enforced, by name; empty for those that can.
	refused map[string]string
}

// enforce connects to the cluster and enforces its policies until ctx ends.
func enforce(ctx context.Context, kubeconfig, node string, podRange netip.Prefix) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	typed := informers.NewSharedInformerFactory(client, 0)
	// Untyped, because a typed client would drop unknown fields.
	untyped := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	e := &enforcer{
		node: node, podRange: podRange,
		pods: typed.Core().V1().Pods().Lister(), namespaces: typed.Core().V1().Namespaces().Lister(),
		policies: untyped.ForResource(networkPolicies).Lister(),
		events:   broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "enforce-policies", Host: node}),
		changed:  make(chan struct{}, 1),
		refused:  map[string]string{},
	}
	for _, informer := range []cache.SharedIndexInformer{
		typed.Core().V1().Pods().Informer(), typed.Core().V1().Namespaces().Informer(), untyped.ForResource(networkPolicies).Informer(),
	} {
		if _, err := informer.AddEventHandler(e.handler()); err != nil {
			return err
		}
	}
	// Until the objects are known, all pods are isolated.
	if err := e.apply(policy.Render(nil, podRange)); err != nil {
		return err
	}
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	typed.WaitForCacheSync(ctx.Done())
	untyped.WaitForCacheSync(ctx.Done())
	if ctx.Err() != nil {
		// With only a part of the objects, such as pods without policies, the rules could allow too much.
		return nil
	}
	return e.run(ctx)
}

// handler returns a handler that signals each change of an object.
func (e *enforcer) handler() cache.ResourceEventHandler {
	notify := func(any) {
		select {
		case e.changed <- struct{}{}:
		default:
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: notify, DeleteFunc: notify, UpdateFunc: func(_, changed any) { notify(changed) }}
}

// run applies the rules, initially and after each change.
func (e *enforcer) run(ctx context.Context) error {
	for {
		cluster, err := e.read()
		if err != nil {
			return err
		}
		rules := policy.Compile(cluster, e.node)
		if err := e.apply(policy.Render(rules, e.podRange)); err != nil {
			return err
		}
		klog.V(1).InfoS("Policies are enforced", "policies", len(cluster.Policies), "pods", len(rules))
		select {
		case <-ctx.Done():
			return nil
		case <-e.changed:
			time.Sleep(settleTime)
		}
	}
}

// read returns the objects of the cluster, and reports the policies that cannot be enforced.
func (e *enforcer) read() (policy.Cluster, error) {
	var cluster policy.Cluster
	var err error
	if cluster.Pods, err = e.pods.List(labels.Everything()); err != nil {
		return cluster, err
	}
	if cluster.Namespaces, err = e.namespaces.List(labels.Everything()); err != nil {
		return cluster, err
	}
	objects, err := e.policies.List(labels.Everything())
	if err != nil {
		return cluster, err
	}
	refused := map[string]string{}
	for _, object := range objects {
		decoded, err := decode(object)
		if err != nil {
			return cluster, err
		}
		e.report(object, decoded)
		refused[nameOf(decoded)] = decoded.Problem
		cluster.Policies = append(cluster.Policies, decoded)
	}
	e.refused = refused
	return cluster, nil
}

func decode(object runtime.Object) (policy.Policy, error) {
	content, ok := object.(*unstructured.Unstructured)
	if !ok {
		return policy.Policy{}, fmt.Errorf("a policy is a %T", object)
	}
	spec, err := json.Marshal(content.Object["spec"])
	if err != nil {
		return policy.Policy{}, err
	}
	return policy.Decode(content.GetNamespace(), content.GetName(), spec), nil
}

// report logs why a policy cannot be enforced, and adds an event to the policy, once for each reason.
func (e *enforcer) report(object runtime.Object, decoded policy.Policy) {
	if decoded.Problem == "" || decoded.Problem == e.refused[nameOf(decoded)] {
		return
	}
	klog.ErrorS(nil, "A policy cannot be enforced: its pods can neither connect nor be reached", "policy", nameOf(decoded), "problem", decoded.Problem)
	e.events.Eventf(object, corev1.EventTypeWarning, "NotEnforced", "On node %s the pods of this policy can neither connect nor be reached: %s", e.node, decoded.Problem)
}

func nameOf(decoded policy.Policy) string {
	return decoded.Namespace + "/" + decoded.Name
}

// apply runs the script, if it changed. If nft rejects it, all pods of the node are isolated.
func (e *enforcer) apply(script string) error {
	if script == e.applied {
		return nil
	}
	command := exec.Command("nft", "-f", "-")
	command.Stdin = bytes.NewBufferString(script)
	if output, err := command.CombinedOutput(); err != nil {
		err = fmt.Errorf("nft: %w: %s\n%s", err, output, script)
		if closed := policy.Render(nil, e.podRange); script != closed {
			// Pods must not keep outdated rules.
			return errors.Join(err, e.apply(closed))
		}
		return err
	}
	e.applied = script
	return nil
}
