package policy

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const nodeAddress = "10.90.1.1"

var podRange = netip.MustParsePrefix("10.90.1.0/24")

// The addresses of a host that is not a pod, and the name of each in the tests.
var outside = map[string]string{"internet": "203.0.113.7", "private": "10.8.0.1", "metadata": "169.254.169.254"}

var namespaces = []*corev1.Namespace{
	{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"kubernetes.io/metadata.name": "a", "team": "red"}}},
	{ObjectMeta: metav1.ObjectMeta{Name: "b", Labels: map[string]string{"kubernetes.io/metadata.name": "b", "team": "blue"}}},
	{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{"kubernetes.io/metadata.name": "c"}}},
}

var pods = map[string]*corev1.Pod{
	"web":   newPod("a", "web", "10.90.1.2", map[string]string{"app": "web", "tier": "front"}, port("http", 8080, "TCP"), port("names", udpPort, "UDP")),
	"api":   newPod("a", "api", "10.90.1.3", map[string]string{"app": "api"}, port("http", 80, "")),
	"job":   newPod("b", "job", "10.90.1.4", map[string]string{"app": "job", "tier": "front"}),
	"spy":   newPod("c", "spy", "10.90.1.5", map[string]string{"app": "web"}),
	"ended": endedPod(newPod("a", "ended", "10.90.1.6", map[string]string{"app": "web"})),
}

func port(name string, number int32, protocol corev1.Protocol) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: protocol}
}

func newPod(namespace, name, address string, labels map[string]string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Ports: ports}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address},
	}
}

func endedPod(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase = corev1.PodSucceeded
	return pod
}

// Each policy is the spec of a NetworkPolicy of namespace a. A probe is "from>to:port", of UDP with "/udp".
var cases = []struct {
	title            string
	policies         []string
	allowed, refused string
}{
	{
		title:   "no policy allows everything between known pods",
		allowed: "web>api:80 api>web:81 job>web:80 spy>web:5353/udp web>internet:80 web>metadata:80 web>node:80 node>web:80 internet>web:80",
		refused: "ended>web:80 web>ended:80 ended>internet:80 ended>node:80",
	},
	{
		title:    "an empty podSelector selects the whole namespace, and a policy without rules allows nothing",
		policies: []string{`{podSelector: {}, policyTypes: [Ingress, Egress]}`},
		allowed:  "node>web:80 node>api:80 job>spy:80 job>internet:80",
		refused:  "web>api:80 api>web:80 job>web:80 internet>web:80 web>internet:80 web>private:80 web>metadata:80 web>node:80 web>spy:80 web>spy:5353/udp",
	},
	{
		title:    "without policyTypes, only ingress is isolated",
		policies: []string{`{podSelector: {matchLabels: {app: web}}}`},
		allowed:  "web>api:80 web>internet:80 web>node:80 job>api:80",
		refused:  "api>web:80 job>web:80 internet>web:80",
	},
	{
		title:    "without policyTypes but with an egress rule, both directions are isolated",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, egress: [{ports: [{port: 80}]}]}`},
		allowed:  "web>api:80 web>internet:80 web>node:80",
		refused:  "web>api:81 web>internet:81 web>node:81 api>web:80 job>web:80",
	},
	{
		title:    "policyTypes Egress leaves ingress open, although there are ingress rules",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], ingress: [{ports: [{port: 81}]}]}`},
		allowed:  "job>web:80 job>web:81 internet>web:80",
		refused:  "web>job:80 web>api:80 web>node:80",
	},
	{
		title:    "policyTypes Ingress leaves egress open, although there are egress rules",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress], egress: [{ports: [{port: 81}]}]}`},
		allowed:  "web>job:80 web>internet:80",
		refused:  "job>web:80",
	},
	{
		title:    "an empty rule allows every peer and port",
		policies: []string{`{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}], egress: [{}]}`},
		allowed:  "web>api:80 job>web:9000 internet>web:80 web>internet:80 web>metadata:80 web>node:80 web>spy:5353/udp",
		refused:  "web>ended:80",
	},
	{
		title:    "a podSelector as peer selects pods of the policy's namespace only",
		policies: []string{`{podSelector: {matchLabels: {app: api}}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}`},
		allowed:  "web>api:80 web>api:81",
		refused:  "spy>api:80 job>api:80 internet>api:80",
	},
	{
		title:    "an empty podSelector as peer selects all pods of the namespace",
		policies: []string{`{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`},
		allowed:  "web>api:80 api>web:80",
		refused:  "spy>api:80 job>web:80 private>web:80",
	},
	{
		title:    "a namespaceSelector as peer selects all pods of these namespaces",
		policies: []string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}`},
		allowed:  "job>web:80 job>api:81",
		refused:  "web>api:80 spy>web:80 internet>web:80",
	},
	{
		title:    "an empty namespaceSelector as peer selects all pods, but nothing outside the cluster",
		policies: []string{`{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{namespaceSelector: {}}]}], egress: [{to: [{namespaceSelector: {}}]}]}`},
		allowed:  "web>api:80 job>web:80 spy>web:80 web>job:80",
		refused:  "internet>web:80 private>web:80 web>internet:80 web>node:80 web>metadata:80",
	},
	{
		title:    "both selectors in one peer must match",
		policies: []string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}, podSelector: {matchLabels: {tier: front}}}]}]}`},
		allowed:  "job>web:80",
		refused:  "web>api:80 spy>web:80",
	},
	{
		title:    "of two peers, either may match",
		policies: []string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}, {podSelector: {matchLabels: {tier: front}}}]}]}`},
		allowed:  "job>api:80 web>api:80",
		refused:  "spy>api:80 api>web:80",
	},
	{
		title:    "matchExpressions: In, and both of two requirements",
		policies: []string{`{podSelector: {matchExpressions: [{key: app, operator: In, values: [web, api]}, {key: tier, operator: Exists}]}}`},
		allowed:  "job>api:80",
		refused:  "job>web:80",
	},
	{
		title:    "matchExpressions: NotIn also selects pods without the label",
		policies: []string{`{podSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [front]}]}}`},
		allowed:  "job>web:80",
		refused:  "job>api:80",
	},
	{
		title:    "matchExpressions: DoesNotExist, of namespaces",
		policies: []string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}]}]}`},
		allowed:  "spy>web:80",
		refused:  "job>web:80 api>web:80",
	},
	{
		title:    "a namespace is selected by its name",
		policies: []string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: c}}}]}]}`},
		allowed:  "spy>web:80",
		refused:  "job>web:80 api>web:80",
	},
	{
		title:    "egress to pods by selector",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {matchLabels: {team: blue}}}]}]}`},
		allowed:  "web>job:80 web>job:5353/udp api>spy:80",
		refused:  "web>spy:80 web>api:80 web>internet:80",
	},
	{
		title:    "ipBlock with except, outgoing",
		policies: []string{`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 10.90.0.0/16, 169.254.0.0/16]}}]}]}`},
		allowed:  "web>internet:80 web>internet:5353/udp job>private:80",
		refused:  "web>private:80 web>metadata:80 web>node:80 web>api:80 web>spy:80",
	},
	{
		title:    "ipBlock with except, incoming",
		policies: []string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.90.1.4/32]}}]}]}`},
		allowed:  "private>web:80 spy>web:80 web>api:80",
		refused:  "job>web:80 internet>web:80",
	},
	{
		title:    "ipBlock of one address, and an IPv6 block, which matches nothing here",
		policies: []string{`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 203.0.113.7/32}}, {ipBlock: {cidr: "::/0", except: ["fc00::/7"]}}]}]}`},
		allowed:  "web>internet:80",
		refused:  "web>private:80 web>api:80",
	},
	{
		title:    "a port is of TCP unless the policy says UDP",
		policies: []string{`{podSelector: {}, ingress: [{ports: [{port: 80}]}]}`},
		allowed:  "job>web:80 internet>api:80",
		refused:  "job>web:81 job>web:5353/udp",
	},
	{
		title:    "a UDP port",
		policies: []string{`{podSelector: {}, ingress: [{ports: [{port: 5353, protocol: UDP}]}]}`},
		allowed:  "job>web:5353/udp",
		refused:  "job>web:80 job>web:81",
	},
	{
		title:    "a protocol without a port allows all its ports",
		policies: []string{`{podSelector: {}, ingress: [{ports: [{protocol: TCP}]}]}`},
		allowed:  "job>web:80 job>web:9000",
		refused:  "job>web:5353/udp",
	},
	{
		title:    "endPort allows a range, both ends included",
		policies: []string{`{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{ports: [{port: 81, endPort: 8080}]}], egress: [{ports: [{port: 80, endPort: 81}]}]}`},
		allowed:  "job>web:81 job>web:8080 web>job:80 web>job:81 web>internet:80",
		refused:  "job>web:80 job>web:9000 web>job:8080 web>job:9000",
	},
	{
		title:    "a named port, incoming, is the number of the pod that is reached",
		policies: []string{`{podSelector: {}, ingress: [{ports: [{port: http}]}]}`},
		allowed:  "job>web:8080 job>api:80",
		refused:  "job>web:80 job>api:8080 job>web:5353/udp",
	},
	{
		title:    "a named port, outgoing, is the number of the pod that is reached",
		policies: []string{`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{podSelector: {}}], ports: [{port: http}]}]}`},
		allowed:  "api>web:8080 web>api:80 job>web:80",
		refused:  "api>web:80 web>api:8080 web>internet:8080 web>job:8080",
	},
	{
		title:    "a named port, outgoing, without peers",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{ports: [{port: http}]}]}`},
		allowed:  "web>api:80",
		refused:  "web>api:8080 web>spy:80 web>internet:80",
	},
	{
		title:    "a named UDP port needs its protocol, and a name that a pod lacks allows nothing",
		policies: []string{`{podSelector: {}, ingress: [{ports: [{port: names, protocol: UDP}, {port: missing}]}]}`},
		allowed:  "job>web:5353/udp",
		refused:  "job>web:80 job>web:8080 job>api:5353/udp",
	},
	{
		title: "policies add up",
		policies: []string{
			`{podSelector: {}, policyTypes: [Ingress, Egress]}`,
			`{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: blue}}}], ports: [{port: 80}]}]}`,
			`{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{ipBlock: {cidr: 203.0.113.0/24}}], ports: [{port: 81}]}]}`,
		},
		allowed: "job>web:80 internet>web:81",
		refused: "job>web:81 internet>web:80 job>api:80 web>api:80 web>internet:80",
	},
	{
		title: "a connection between isolated pods needs both directions",
		policies: []string{
			`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{ports: [{port: 80}]}]}`,
			`{podSelector: {matchLabels: {app: api}}, ingress: [{ports: [{port: 80}, {port: 81}]}]}`,
		},
		allowed: "web>api:80 job>api:81",
		refused: "web>api:81 web>api:9000 job>api:9000",
	},
	{
		title:    "an unknown field isolates the selected pods and allows nothing",
		policies: []string{`{podSelector: {matchLabels: {app: web}}, ingress: [{}], unknown: true}`},
		allowed:  "job>api:80 api>internet:80",
		refused:  "job>web:80 web>internet:80 web>api:80",
	},
}

// An isolated pod must not reach its node by IPv6, or send packets with the address of another pod.
func TestWaysAroundPolicies(t *testing.T) {
	hosts := startHosts(t)
	overLinkLocal := fmt.Sprintf("tcp [%s%%eth0]:80", nodeLinkLocal)
	toAPI := func(sender string) string {
		return fmt.Sprintf("spoof %s:%d %s", pods["api"].Status.PodIP, udpPort, sender)
	}
	probeWithin := func(within time.Duration, from, target string) bool {
		return hosts[from].probe(t, within, []string{target})[0]
	}
	probe := func(from, target string) bool { return probeWithin(refusedAfter, from, target) }
	received := func(sender string) bool { return probe("api", "received "+sender) }
	if !probeWithin(allowedWithin, "web", overLinkLocal) {
		t.Fatal("without rules, the node cannot be reached over IPv6")
	}
	if !probe("spy", toAPI("10.90.1.77")) || !received("10.90.1.77") {
		t.Fatal("without rules, a packet in the name of another host does not arrive")
	}
	cluster := Cluster{Namespaces: namespaces, Policies: []Policy{
		decode(t, "tenant", `{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}]}], egress: [{to: [{podSelector: {}}]}]}`),
	}}
	for _, pod := range pods {
		cluster.Pods = append(cluster.Pods, pod)
	}
	apply(t, Render(Compile(cluster, "n1"), podRange))
	if probe("web", overLinkLocal) {
		t.Error("an isolated pod reaches its node over IPv6")
	}
	web := pods["web"].Status.PodIP
	if !probe("spy", toAPI(web)) || received(web) {
		t.Error("a packet arrives in the name of another pod")
	}
	if !probeWithin(allowedWithin, "web", fmt.Sprintf("udp %s:%d", pods["api"].Status.PodIP, udpPort)) || !received(web) {
		t.Error("the packet of the pod that owns the address does not arrive")
	}
}

func TestScriptsAreAccepted(t *testing.T) {
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("nft is not installed")
	}
	cluster := Cluster{Namespaces: namespaces, Pods: []*corev1.Pod{pods["web"]}, Policies: []Policy{
		decode(t, "sctp", `{podSelector: {}, ingress: [{ports: [{protocol: SCTP, port: 1000, endPort: 2000}, {protocol: SCTP}]}]}`),
	}}
	script := Render(Compile(cluster, "n1"), podRange)
	for _, line := range []string{"sctp dport 1000-2000 return", "meta l4proto sctp return"} {
		if !strings.Contains(script, line) {
			t.Errorf("%q is not in\n%s", line, script)
		}
	}
	apply(t, script)
	apply(t, Render(nil, podRange))
}

// The status of a pod that is being deleted may still have an address that another pod has received.
func TestReusedAddresses(t *testing.T) {
	deleted := metav1.Unix(3, 0)
	copyOf := func(name string, created int64, deleted *metav1.Time) *corev1.Pod {
		pod := pods["web"].DeepCopy()
		pod.Name, pod.CreationTimestamp, pod.DeletionTimestamp = name, metav1.Unix(created, 0), deleted
		pod.Labels = map[string]string{"name": name}
		return pod
	}
	for title, pair := range map[string][]*corev1.Pod{
		"an older pod": {copyOf("new", 2, nil), copyOf("old", 1, nil)},
		"a pod of the same second that is deleted": {copyOf("new", 1, nil), copyOf("old", 1, &deleted)},
	} {
		for _, address := range [][]*corev1.Pod{pair, {pair[1], pair[0]}} {
			cluster := Cluster{Namespaces: namespaces, Pods: append(address, pods["api"]), Policies: []Policy{
				decode(t, "old", `{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {name: old}}}]}]}`),
			}}
			rules := Compile(cluster, "n1")
			if len(rules) != 2 || rules[1].Name != "a/new" {
				t.Errorf("%s: the newer of two pods with one address must be kept: %v", title, rules)
			}
			if len(rules[0].Ingress) != 0 {
				t.Errorf("%s: a pod has the rights of the pod that had its address before: %v", title, rules[0].Ingress)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	for spec, problem := range map[string]string{
		`{podSelector: {}, unknown: 1}`:                                                              "unknown field",
		`{podSelector: {}, policyTypes: [Sideways]}`:                                                 `policyType "Sideways" is unknown`,
		`{podSelector: {matchExpressions: [{key: a, operator: Gt, values: ["1"]}]}}`:                 `"Gt" is not a valid label selector operator`,
		`{podSelector: {}, ingress: [{ports: [{protocol: ICMP}]}]}`:                                  `protocol "ICMP" is unknown`,
		`{podSelector: {}, ingress: [{ports: [{port: http, endPort: 90}]}]}`:                         "endPort 90 needs a number",
		`{podSelector: {}, ingress: [{ports: [{port: 91, endPort: 90}]}]}`:                           "endPort 90 needs a number",
		`{podSelector: {}, egress: [{to: [{}]}]}`:                                                    "a peer needs either",
		`{podSelector: {}, egress: [{to: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]}`:        "a peer needs either",
		`{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0}}]}]}`:                           "10.0.0.0",
		`{podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [everything]}}]}]}`:   "everything",
		`{podSelector: {}, egress: [{to: [{namespaceSelector: {matchLabels: {a: b}, other: {}}}]}]}`: "unknown field",
	} {
		if decoded := decode(t, "policy", spec); !strings.Contains(decoded.Problem, problem) {
			t.Errorf("%s: %q is not in %q", spec, problem, decoded.Problem)
		}
	}
}

func TestPolicies(t *testing.T) {
	hosts := startHosts(t)
	for _, test := range cases {
		t.Run(test.title, func(t *testing.T) {
			cluster := Cluster{Namespaces: namespaces}
			for _, pod := range pods {
				cluster.Pods = append(cluster.Pods, pod)
			}
			for i, spec := range test.policies {
				cluster.Policies = append(cluster.Policies, decode(t, fmt.Sprint("policy-", i), spec))
			}
			apply(t, Render(Compile(cluster, "n1"), podRange))
			expect(t, hosts, test.allowed, true)
			expect(t, hosts, test.refused, false)
		})
	}
}

func startHosts(t *testing.T) map[string]*host {
	for _, program := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	run(t, "nft", "flush", "ruleset")
	run(t, "ip", "link", "set", "lo", "up")
	must(t, os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0))
	hosts := map[string]*host{}
	for name, pod := range pods {
		hosts[name] = startHost(t, "veth-"+name, pod.Status.PodIP)
	}
	for name, address := range outside {
		hosts[name] = startHost(t, "out-"+name, address)
	}
	listenOnce.Do(listen)
	return hosts
}

var listenOnce sync.Once

func decode(t *testing.T, name, spec string) Policy {
	json, err := yaml.YAMLToJSON([]byte(spec))
	must(t, err)
	return Decode("a", name, json)
}

func apply(t *testing.T, script string) {
	command := exec.Command("nft", "-f", "-")
	command.Stdin = strings.NewReader(script)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, script)
	}
}

// expect runs all probes of a host at the same time, since each refused probe waits for its timeout.
func expect(t *testing.T, hosts map[string]*host, probes string, isAllowed bool) {
	t.Helper()
	byHost := map[string][]string{}
	for _, probe := range strings.Fields(probes) {
		from, _, _ := strings.Cut(probe, ">")
		byHost[from] = append(byHost[from], probe)
	}
	for from, probes := range byHost {
		targets := make([]string, len(probes))
		for i, probe := range probes {
			targets[i] = target(t, probe)
		}
		within := refusedAfter
		if isAllowed {
			within = allowedWithin
		}
		reached := probeAll
		if from != "node" {
			reached = func(within time.Duration, targets []string) []bool { return hosts[from].probe(t, within, targets) }
		}
		for i, isReached := range reached(within, targets) {
			if isReached != isAllowed {
				t.Errorf("%s: reached %v, expected %v", probes[i], isReached, isAllowed)
			}
		}
	}
}

func target(t *testing.T, probe string) string {
	_, to, _ := strings.Cut(probe, ">")
	name, port, _ := strings.Cut(to, ":")
	number, protocol, hasProtocol := strings.Cut(port, "/")
	if !hasProtocol {
		protocol = "tcp"
	}
	address := nodeAddress
	if pod, isPod := pods[name]; isPod {
		address = pod.Status.PodIP
	} else if name != "node" {
		address = outside[name]
	}
	if address == "" {
		t.Fatalf("%s: there is no %s", probe, name)
	}
	return fmt.Sprintf("%s %s:%s", protocol, address, number)
}
