// The program in the test cluster's own image. It is the pause container of each pod, and runs in the pods with which tests probe the
// network.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `pod pause           waits for SIGTERM, and reaps processes
pod serve PORT…     responds to HTTP requests with the pod's name
pod get URL         prints the body of the response; exit code 1 if there is none within 2 s
pod connect ADDRESS connects over TCP; exit code 1 if it fails or takes more than 2 s
pod burn            uses one core until SIGTERM
pod print COUNT RATE [BYTES]
                    prints COUNT numbered lines of about BYTES bytes, RATE per second (0: as fast as possible), and waits
                    for SIGTERM, at which it stops, and prints "end N", N being the number of printed lines`

const timeout = 2 * time.Second

func main() {
	if len(os.Args) < 2 {
		fail(usage)
	}
	switch args := os.Args[2:]; os.Args[1] {
	case "pause":
		pause()
	case "serve":
		serve(args)
	case "get":
		get(args[0])
	case "connect":
		connection, err := net.DialTimeout("tcp", args[0], timeout)
		exitOn(err)
		connection.Close()
	case "burn":
		burn()
	case "print":
		printLines(args)
	default:
		fail(usage)
	}
}

func burn() {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	fmt.Println("burning")
	for len(stopped) == 0 {
	}
}

func printLines(args []string) {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	numbers := [3]int{}
	for i, arg := range args {
		number, err := strconv.Atoi(arg)
		exitOn(err)
		numbers[i] = number
	}
	count, rate, padding := numbers[0], numbers[1], strings.Repeat("x", numbers[2])
	start := time.Now()
	printed := 0
	for ; printed < count && len(stopped) == 0; printed++ {
		if rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(printed) * time.Second / time.Duration(rate))))
		}
		fmt.Println(printed+1, padding)
	}
	if printed == count {
		<-stopped
	}
	fmt.Println("end", printed)
}

func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

func serve(ports []string) {
	name, err := os.Hostname()
	exitOn(err)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, name) })
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+port)
		exitOn(err)
		go func() { exitOn(http.Serve(listener, handler)) }()
	}
	fmt.Println("listening")
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	<-stopped
}

func get(url string) {
	client := http.Client{Timeout: timeout}
	response, err := client.Get(url)
	exitOn(err)
	defer response.Body.Close()
	_, err = io.Copy(os.Stdout, response.Body)
	exitOn(err)
}

func exitOn(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(1)
}
