/** The section of docs/operate.md about private certificate authorities. */
export const authoritiesDoc = `## Private certificate authorities

\`SHOAL_CA_FILE\` names a file with the certificates, in PEM, of authorities that the server and its commands trust in addition to the public ones: for Postgres (add \`sslmode=verify-full\` to its URL), the registry, S3, RPC nodes, the mail server, webhooks. npm and builds receive it as \`NODE_EXTRA_CA_CERTS\`, unless that is set. Tested with Postgres, with a registry and with other servers over HTTPS.

- The API server of a cluster is verified with the authority in its kubeconfig, and kubelets with \`SHOAL_KUBE_KUBELET_CA_FILE\`. Collectors of logs have their own configuration.
- Nodes pull images with the configuration of their container runtime, so the container runtime must trust the registry's authority, too.
- Programs of squids do not receive the file. With \`sslmode=verify-full\` in \`SHOAL_SQUIDS_DATABASE_URL\`, their \`DB_URL\` has that mode, so the image of a squid must contain the authority; \`sslmode=require\` is passed on, too.
`
