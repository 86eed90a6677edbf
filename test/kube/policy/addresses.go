package policy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// withoutReused omits pods whose address a newer pod has: the status of a pod that is being deleted may be outdated. Otherwise,
// policies for one of the pods would apply to both.
func withoutReused(pods []*corev1.Pod) []*corev1.Pod {
	newest := map[netip.Addr]*corev1.Pod{}
	for _, pod := range pods {
		if address, ok := addressOf(pod); ok && (newest[address] == nil || isNewer(pod, newest[address])) {
			newest[address] = pod
		}
	}
	var current []*corev1.Pod
	for _, pod := range pods {
		if address, ok := addressOf(pod); !ok || newest[address] == pod {
			current = append(current, pod)
		}
	}
	return current
}

// isNewer compares two pods with the same address. Times of creation have a resolution of a second.
func isNewer(pod, than *corev1.Pod) bool {
	if !pod.CreationTimestamp.Equal(&than.CreationTimestamp) {
		return than.CreationTimestamp.Before(&pod.CreationTimestamp)
	}
	if isDeleted := pod.DeletionTimestamp != nil; isDeleted != (than.DeletionTimestamp != nil) {
		return !isDeleted
	}
	return pod.UID > than.UID
}

func prefixesOf(pods []*corev1.Pod) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, pod := range pods {
		if address, ok := addressOf(pod); ok {
			prefixes = append(prefixes, netip.PrefixFrom(address, 32))
		}
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return slices.Compact(prefixes)
}

// addressOf returns the address that belongs to the pod: none before it has one, after it has ended, or in the host's network.
func addressOf(pod *corev1.Pod) (netip.Addr, bool) {
	if pod.Spec.HostNetwork || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(pod.Status.PodIP)
	return address, err == nil && address.Is4()
}
