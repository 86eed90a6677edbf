package policy

import (
	"fmt"
	"net/netip"
	"strings"
)

// Table is the nftables table of the rules.
const Table = "shoal-policy"

// Render returns an nftables script that replaces the table in one transaction. podRange has the addresses of the node's pods: those that
// belong to no known pod can neither connect nor be reached, so a pod is never reachable before its policies are enforced.
// Nodes reach their own pods, and replies pass, regardless of the policies.
func Render(rules []PodRules, podRange netip.Prefix) string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("table inet %s", Table)
	line("delete table inet %s", Table)
	line("table inet %s {", Table)
	var known, egress, ingress []string
	for i, pod := range rules {
		known = append(known, pod.Address.String())
		if pod.IsolatedEgress {
			egress = append(egress, fmt.Sprintf("%s : jump egress-%d", pod.Address, i))
			writeChain(line, fmt.Sprintf("egress-%d", i), pod.Name, "daddr", pod.Egress)
		}
		if pod.IsolatedIngress {
			ingress = append(ingress, fmt.Sprintf("%s : jump ingress-%d", pod.Address, i))
			writeChain(line, fmt.Sprintf("ingress-%d", i), pod.Name, "saddr", pod.Ingress)
		}
	}
	line("set known { type ipv4_addr; %s}", elements(known))
	line("map egress { type ipv4_addr : verdict; %s}", elements(egress))
	line("map ingress { type ipv4_addr : verdict; %s}", elements(ingress))
	// A pod with the right to send raw packets could otherwise use the address of another one.
	line("chain source { type filter hook prerouting priority raw; policy accept;")
	line("fib saddr . iif oif missing drop\n}")
	// Policies apply only to IPv4. Without this rule, isolated pods could reach a node at its link-local address.
	for _, hook := range []string{"forward", "input"} {
		line("chain %s { type filter hook %s priority filter; policy accept;", hook, hook)
		line(`iifname "lo" accept`)
		line("meta nfproto ipv6 drop")
		line("ct state established,related accept")
		line("ip saddr %s ip saddr != @known drop", podRange)
		line("ip saddr vmap @egress")
		if hook == "forward" {
			line("ip daddr %s ip daddr != @known drop", podRange)
			line("ip daddr vmap @ingress")
		}
		line("}")
	}
	line("}")
	return text.String()
}

// elements returns the statement with the elements of a set or map. Without elements there is none, since nftables rejects an empty list.
func elements(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("elements = { %s } ", strings.Join(of, ", "))
}

// writeChain writes a chain that returns for allowed connections and drops all others. peer is saddr or daddr, the address of the other
// side.
func writeChain(line func(string, ...any), name, pod, peer string, allows []Allow) {
	line("chain %s { # %s", name, pod)
	for _, allow := range allows {
		addresses := ""
		if allow.Addresses != nil {
			addresses = fmt.Sprintf("ip %s { %s } ", peer, join(allow.Addresses))
		}
		if len(allow.Except) > 0 {
			addresses += fmt.Sprintf("ip %s != { %s } ", peer, join(allow.Except))
		}
		if allow.Ports == nil {
			line("%sreturn", addresses)
		}
		for _, port := range allow.Ports {
			line("%s%s return", addresses, portMatch(port))
		}
	}
	line("drop\n}")
}

func portMatch(port PortRange) string {
	protocol := strings.ToLower(port.Protocol)
	switch {
	case port.First == 0:
		return "meta l4proto " + protocol
	case port.First == port.Last:
		return fmt.Sprintf("%s dport %d", protocol, port.First)
	default:
		return fmt.Sprintf("%s dport %d-%d", protocol, port.First, port.Last)
	}
}

func join(prefixes []netip.Prefix) string {
	texts := make([]string, len(prefixes))
	for i, prefix := range prefixes {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ", ")
}
