package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const validFor = 30 * 24 * time.Hour

// certificatesCommand writes a certificate authority, the key of service accounts, and for each identity a certificate and a kubeconfig.
func certificatesCommand() *cobra.Command {
	var folder, server string
	var identities []string
	command := &cobra.Command{
		Use: "certificates",
		RunE: func(*cobra.Command, []string) error {
			return writeCertificates(folder, server, identities)
		},
	}
	command.Flags().StringVar(&folder, "folder", "", "folder for the certificates and kubeconfigs")
	command.Flags().StringVar(&server, "server", "", "URL of the API server, for the kubeconfigs")
	command.Flags().StringArrayVar(&identities, "identity", nil, "FILE;USER;GROUP;ADDRESSES, where GROUP and ADDRESSES (names and IP addresses, separated by commas) may be empty")
	return command
}

// authority signs the certificates of a test cluster, and writes them to folder.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	folder      string
	server      string
}

// writeCertificates writes the files of certificatesCommand. Each of identities has the four fields of the flag.
func writeCertificates(folder, server string, identities []string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	issuer, err := newAuthority(folder, server)
	if err != nil {
		return err
	}
	for _, identity := range identities {
		fields := strings.Split(identity, ";")
		if len(fields) != 4 {
			return fmt.Errorf("--identity %q does not have four fields", identity)
		}
		if err := issuer.issue(fields[0], fields[1], fields[2], fields[3]); err != nil {
			return err
		}
	}
	return writeServiceAccountKey(folder)
}

// newAuthority creates an authority and writes its own certificate and key, ca.crt and ca.key.
func newAuthority(folder, server string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "shoal-test"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	issuer := &authority{certificate: template, key: key, folder: folder, server: server}
	return issuer, issuer.write("ca", template, key)
}

// issue writes a certificate of the user, its key and a kubeconfig with both. The server at the addresses can use the certificate too.
func (a *authority) issue(file, user, group, addresses string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: user},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, address := range strings.FieldsFunc(addresses, func(r rune) bool { return r == ',' }) {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	if err := a.write(file, template, key); err != nil {
		return err
	}
	return a.writeKubeconfig(file)
}

// write signs the certificate and writes it and its key to file.crt and file.key.
func (a *authority) write(file string, template *x509.Certificate, key *ecdsa.PrivateKey) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validFor)
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	path := filepath.Join(a.folder, file)
	if err := writePEM(path+".crt", "CERTIFICATE", certificate); err != nil {
		return err
	}
	return writePEM(path+".key", "PRIVATE KEY", private)
}

func writePEM(path, kind string, content []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

func (a *authority) writeKubeconfig(file string) error {
	encoded := map[string]string{}
	for _, name := range []string{"ca.crt", file + ".crt", file + ".key"} {
		content, err := os.ReadFile(filepath.Join(a.folder, name))
		if err != nil {
			return err
		}
		encoded[name] = base64.StdEncoding.EncodeToString(content)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: shoal-test, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: user, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: shoal-test, context: {cluster: shoal-test, user: user}}]
current-context: shoal-test
`, a.server, encoded["ca.crt"], encoded[file+".crt"], encoded[file+".key"])
	return os.WriteFile(filepath.Join(a.folder, file+".conf"), []byte(text), 0o600)
}

// writeServiceAccountKey writes the key pair with which the API server signs and verifies the tokens of service accounts.
func writeServiceAccountKey(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(folder, "service-accounts.key"), "PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(filepath.Join(folder, "service-accounts.pub"), "PUBLIC KEY", public)
}
