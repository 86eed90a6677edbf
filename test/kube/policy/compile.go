package policy

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Cluster has the objects that determine which connections are allowed.
type Cluster struct {
	Pods       []*corev1.Pod
	Namespaces []*corev1.Namespace
	Policies   []Policy
}

// PodRules are the rules of one pod. A direction that is not isolated allows everything, an isolated one only what its list allows.
type PodRules struct {
	Name                            string
	Address                         netip.Addr
	IsolatedIngress, IsolatedEgress bool
	Ingress, Egress                 []Allow
}

// Allow allows connections with one of Addresses that is in none of Except, on one of Ports. Nil means all.
type Allow struct {
	Addresses, Except []netip.Prefix
	Ports             []PortRange
}

// PortRange is a range of ports, inclusive. First 0 is every port.
type PortRange struct {
	Protocol    string
	First, Last int32
}

// Compile returns the rules of each pod of the node that has an address, sorted by name. Pods in the host's network are not affected by
// policies. A policy with a Problem isolates the pods that it selects in both directions and allows nothing.
func Compile(cluster Cluster, node string) []PodRules {
	cluster.Pods = withoutReused(cluster.Pods)
	var rules []PodRules
	for _, pod := range cluster.Pods {
		if address, ok := addressOf(pod); ok && pod.Spec.NodeName == node {
			rules = append(rules, cluster.rulesOf(pod, address))
		}
	}
	slices.SortFunc(rules, func(a, b PodRules) int { return strings.Compare(a.Name, b.Name) })
	return rules
}

// rulesOf returns the rules of one pod, from all policies that select it.
func (c Cluster) rulesOf(pod *corev1.Pod, address netip.Addr) PodRules {
	rules := PodRules{Name: pod.Namespace + "/" + pod.Name, Address: address}
	for _, policy := range c.Policies {
		if policy.Namespace != pod.Namespace || !selects(&policy.Spec.PodSelector, pod.Labels) {
			continue
		}
		if policy.Problem != "" {
			rules.IsolatedIngress, rules.IsolatedEgress = true, true
			continue
		}
		if hasType(policy.Spec, networkingv1.PolicyTypeIngress) {
			rules.IsolatedIngress = true
			for _, rule := range policy.Spec.Ingress {
				rules.Ingress = append(rules.Ingress, c.allows(policy.Namespace, rule.From, rule.Ports, pod)...)
			}
		}
		if hasType(policy.Spec, networkingv1.PolicyTypeEgress) {
			rules.IsolatedEgress = true
			for _, rule := range policy.Spec.Egress {
				rules.Egress = append(rules.Egress, c.allows(policy.Namespace, rule.To, rule.Ports, nil)...)
			}
		}
	}
	return rules
}

// hasType reports whether a policy affects a direction. One without types affects ingress, and egress if it has egress rules.
func hasType(spec networkingv1.NetworkPolicySpec, policyType networkingv1.PolicyType) bool {
	if len(spec.PolicyTypes) == 0 {
		return policyType == networkingv1.PolicyTypeIngress || len(spec.Egress) > 0
	}
	return slices.Contains(spec.PolicyTypes, policyType)
}

// allows returns what one rule allows. target is the pod whose ports the rule names, nil when these are the ports of its peers (egress).
func (c Cluster) allows(namespace string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, target *corev1.Pod) []Allow {
	numbered, named := splitPorts(ports)
	if target != nil {
		numbered = append(numbered, resolve(named, target)...)
		named = nil
	}
	var allows []Allow
	add := func(addresses, except []netip.Prefix, ranges []PortRange) {
		if len(ports) == 0 {
			allows = append(allows, Allow{Addresses: addresses, Except: except})
		} else if len(ranges) > 0 {
			allows = append(allows, Allow{Addresses: addresses, Except: except, Ports: ranges})
		}
	}
	if len(peers) == 0 {
		add(nil, nil, numbered)
	}
	var pods []*corev1.Pod
	for _, peer := range peers {
		if peer.IPBlock != nil {
			if addresses, except, ok := blockOf(peer.IPBlock); ok {
				add(addresses, except, numbered)
			}
			continue
		}
		pods = append(pods, c.podsOf(namespace, peer)...)
	}
	if addresses := prefixesOf(pods); len(addresses) > 0 {
		add(addresses, nil, numbered)
	}
	if len(named) == 0 {
		return allows
	}
	if len(peers) == 0 {
		pods = c.Pods
	}
	for _, pod := range pods {
		if addresses := prefixesOf([]*corev1.Pod{pod}); len(addresses) > 0 {
			add(addresses, nil, resolve(named, pod))
		}
	}
	return allows
}

// podsOf returns the pods that a peer selects, on all nodes.
func (c Cluster) podsOf(namespace string, peer networkingv1.NetworkPolicyPeer) []*corev1.Pod {
	namespaces := map[string]bool{namespace: peer.NamespaceSelector == nil}
	for _, candidate := range c.Namespaces {
		if peer.NamespaceSelector != nil && selects(peer.NamespaceSelector, candidate.Labels) {
			namespaces[candidate.Name] = true
		}
	}
	var pods []*corev1.Pod
	for _, pod := range c.Pods {
		if namespaces[pod.Namespace] && (peer.PodSelector == nil || selects(peer.PodSelector, pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// selects reports whether the selector matches. An invalid selector, which only a policy with a Problem has, matches everything.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || parsed.Matches(labels.Set(of))
}

// blockOf returns the addresses of a block. ok is false for IPv6: pods have IPv4 addresses only.
func blockOf(block *networkingv1.IPBlock) (addresses, except []netip.Prefix, ok bool) {
	prefix := netip.MustParsePrefix(block.CIDR).Masked()
	if !prefix.Addr().Is4() {
		return nil, nil, false
	}
	if prefix.Bits() > 0 {
		addresses = []netip.Prefix{prefix}
	}
	for _, excepted := range block.Except {
		except = append(except, netip.MustParsePrefix(excepted).Masked())
	}
	return addresses, except, true
}

type namedPort struct {
	protocol corev1.Protocol
	name     string
}

// splitPorts returns the ports that a rule gives by number, and those it gives by name.
func splitPorts(ports []networkingv1.NetworkPolicyPort) (numbered []PortRange, named []namedPort) {
	for _, port := range ports {
		protocol := corev1.ProtocolTCP
		if port.Protocol != nil {
			protocol = *port.Protocol
		}
		switch {
		case port.Port == nil:
			numbered = append(numbered, PortRange{Protocol: string(protocol)})
		case port.Port.Type == intstr.String:
			named = append(named, namedPort{protocol, port.Port.StrVal})
		default:
			last := port.Port.IntVal
			if port.EndPort != nil {
				last = *port.EndPort
			}
			numbered = append(numbered, PortRange{string(protocol), port.Port.IntVal, last})
		}
	}
	return numbered, named
}

// resolve returns the numbers of a pod's named ports.
func resolve(named []namedPort, pod *corev1.Pod) []PortRange {
	var ranges []PortRange
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range container.Ports {
			protocol := port.Protocol
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			if slices.Contains(named, namedPort{protocol, port.Name}) {
				ranges = append(ranges, PortRange{string(protocol), port.ContainerPort, port.ContainerPort})
			}
		}
	}
	return ranges
}
