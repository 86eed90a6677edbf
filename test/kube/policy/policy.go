// Package policy computes which connections the NetworkPolicies of a cluster allow to and from the pods of one node.
package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Policy is a NetworkPolicy. Problem, if not empty, says why it cannot be enforced.
type Policy struct {
	Namespace, Name string
	Spec            networkingv1.NetworkPolicySpec
	Problem         string
}

// Decode reads a NetworkPolicy's spec. A policy with unknown fields or values gets a Problem, since ignoring them could allow more than it says.
func Decode(namespace, name string, spec []byte) Policy {
	decoded := Policy{Namespace: namespace, Name: name}
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&decoded.Spec)
	if err == nil {
		err = check(&decoded.Spec)
	}
	if err != nil {
		decoded.Problem = err.Error()
	}
	return decoded
}

func check(spec *networkingv1.NetworkPolicySpec) error {
	for _, policyType := range spec.PolicyTypes {
		if policyType != networkingv1.PolicyTypeIngress && policyType != networkingv1.PolicyTypeEgress {
			return fmt.Errorf("policyType %q is unknown", policyType)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(&spec.PodSelector); err != nil {
		return fmt.Errorf("podSelector: %w", err)
	}
	for _, rule := range spec.Ingress {
		if err := checkRule(rule.From, rule.Ports); err != nil {
			return fmt.Errorf("ingress: %w", err)
		}
	}
	for _, rule := range spec.Egress {
		if err := checkRule(rule.To, rule.Ports); err != nil {
			return fmt.Errorf("egress: %w", err)
		}
	}
	return nil
}

func checkRule(peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) error {
	for _, peer := range peers {
		if err := checkPeer(peer); err != nil {
			return err
		}
	}
	for _, port := range ports {
		if err := checkPort(port); err != nil {
			return err
		}
	}
	return nil
}

func checkPeer(peer networkingv1.NetworkPolicyPeer) error {
	hasSelector := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if hasSelector == (peer.IPBlock != nil) {
		return fmt.Errorf("a peer needs either selectors or an ipBlock")
	}
	for _, selector := range []*metav1.LabelSelector{peer.PodSelector, peer.NamespaceSelector} {
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			return err
		}
	}
	if peer.IPBlock == nil {
		return nil
	}
	for _, block := range append([]string{peer.IPBlock.CIDR}, peer.IPBlock.Except...) {
		if _, err := netip.ParsePrefix(block); err != nil {
			return err
		}
	}
	return nil
}

func checkPort(port networkingv1.NetworkPolicyPort) error {
	protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	if port.Protocol != nil && !slices.Contains(protocols, *port.Protocol) {
		return fmt.Errorf("protocol %q is unknown", *port.Protocol)
	}
	if port.EndPort == nil {
		return nil
	}
	if port.Port == nil || port.Port.Type != intstr.Int || *port.EndPort < port.Port.IntVal {
		return fmt.Errorf("endPort %d needs a number in port that is not larger", *port.EndPort)
	}
	return nil
}
