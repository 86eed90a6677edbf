package policy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A host simulates a pod or a machine outside of the cluster: a process in its own network namespace, which opens connections on
// command. The namespace ends with the process.
type host struct {
	commands io.Writer
	results  *bufio.Reader
}

const (
	insideNode = "SHOAL_POLICY_TEST_NODE"
	asHost     = "SHOAL_POLICY_TEST_HOST"
	// A test waits this long for packets that are dropped.
	refusedAfter = 400 * time.Millisecond
	// Much longer than refusedAfter, because an allowed connection may be slow on a busy machine.
	allowedWithin = 20 * time.Second
)

var listenedPorts = []int{80, 81, 8080, 9000}

const (
	udpPort = 5353
	// If the kernel has IPv6, the node and the hosts have these link-local addresses on each link.
	nodeLinkLocal = "fe80::1"
	hostLinkLocal = "fe80::2"
)

// TestMain runs the tests in a network namespace that simulates the node. They do not need root, and leave nothing behind, since the
// namespaces end with the processes.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asHost) != "":
		runHost()
	case os.Getenv(insideNode) != "":
		os.Exit(m.Run())
	default:
		os.Exit(runInside())
	}
}

func runInside() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Env = append(os.Environ(), insideNode+"=1")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = inNamespace()
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func inNamespace() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return attributes
}

// startHost starts a host with these addresses. The interface named link connects the node to the host.
func startHost(t *testing.T, link string, addresses ...string) *host {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), asHost+"=1")
	command.Stderr = os.Stderr
	command.SysProcAttr = inNamespace()
	input, err := command.StdinPipe()
	must(t, err)
	output, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	// The link of an earlier test's host may still exist: the kernel removes it some time after the host has ended.
	_ = exec.Command("ip", "link", "delete", link).Run()
	run(t, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(command.Process.Pid))
	run(t, "ip", "addr", "add", nodeAddress+"/32", "dev", link)
	run(t, "ip", "link", "set", link, "up")
	run(t, "ip", "addr", "add", nodeLinkLocal+"/64", "dev", link, "nodad")
	for _, address := range addresses {
		run(t, "ip", "route", "add", address+"/32", "dev", link)
	}
	started := &host{input, bufio.NewReader(output)}
	fmt.Fprintln(input, strings.Join(addresses, " "))
	if line, err := started.results.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the host behind %s did not start: %q %v", link, line, err)
	}
	return started
}

// probe reports for each target ("tcp 10.0.0.1:80") whether it can be reached within a time.
func (h *host) probe(t *testing.T, within time.Duration, targets []string) []bool {
	fmt.Fprintln(h.commands, within.String()+","+strings.Join(targets, ","))
	line, err := h.results.ReadString('\n')
	must(t, err)
	fields := strings.Fields(line)
	results := make([]bool, len(targets))
	for i := range results {
		results[i] = fields[i] == "true"
	}
	return results
}

func runHost() {
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	configure("ip", "link", "set", "lo", "up")
	configure("ip", "link", "set", "eth0", "up")
	for _, address := range strings.Fields(input.Text()) {
		configure("ip", "addr", "add", address+"/32", "dev", "eth0")
	}
	configure("ip", "addr", "add", hostLinkLocal+"/64", "dev", "eth0", "nodad")
	configure("ip", "route", "add", nodeAddress, "dev", "eth0", "scope", "link")
	configure("ip", "route", "add", "default", "via", nodeAddress)
	listen()
	fmt.Println("ready")
	for input.Scan() {
		first, targets, _ := strings.Cut(input.Text(), ",")
		within, err := time.ParseDuration(first)
		if err != nil {
			panic(err)
		}
		fmt.Println(strings.Trim(fmt.Sprint(probeAll(within, strings.Split(targets, ","))), "[]"))
	}
}

func configure(name string, args ...string) {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%s %v: %s", name, args, output))
	}
}

func listen() {
	for _, port := range listenedPorts {
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				connection.Close()
			}
		}()
	}
	packets, err := net.ListenPacket("udp4", fmt.Sprintf(":%d", udpPort))
	if err != nil {
		panic(err)
	}
	go func() {
		buffer := make([]byte, 16)
		for {
			n, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			senders.Store(from.(*net.UDPAddr).IP.String(), true)
			_, _ = packets.WriteTo(buffer[:n], from)
		}
	}()
}

// The addresses from which this host has received UDP packets.
var senders sync.Map

func probeAll(within time.Duration, targets []string) []bool {
	type result struct {
		index   int
		reached bool
	}
	results := make(chan result)
	for i, target := range targets {
		go func() { results <- result{i, isReached(within, target)} }()
	}
	reached := make([]bool, len(targets))
	for range targets {
		result := <-results
		reached[result.index] = result.reached
	}
	return reached
}

// isReached reports whether a target can be reached within a time. Two targets are commands: "spoof RECEIVER SENDER" sends a UDP packet
// with the source address SENDER, and reports whether the kernel accepted it; "received SENDER" reports whether a UDP packet from SENDER
// has arrived at this host.
func isReached(within time.Duration, target string) bool {
	protocol, address, _ := strings.Cut(target, " ")
	switch protocol {
	case "spoof":
		receiver, sender, _ := strings.Cut(address, " ")
		return spoof(receiver, sender) == nil
	case "received":
		_, found := senders.Load(address)
		return found
	}
	connection, err := net.DialTimeout(protocol, address, within)
	if err != nil {
		return false
	}
	defer connection.Close()
	if protocol == "tcp" {
		return true
	}
	_ = connection.SetDeadline(time.Now().Add(within))
	_, _ = connection.Write([]byte("x"))
	_, err = connection.Read(make([]byte, 1))
	return err == nil
}

func spoof(receiver, sender string) error {
	configure("ip", "addr", "add", sender+"/32", "dev", "lo")
	to, err := net.ResolveUDPAddr("udp4", receiver)
	if err != nil {
		return err
	}
	connection, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(sender)}, to)
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = connection.Write([]byte("x"))
	time.Sleep(refusedAfter)
	configure("ip", "addr", "del", sender+"/32", "dev", "lo")
	return err
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, output)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
