/** Documents of the repository that are pages of the site, too. The address of a page is `/operators/<name>`; `file` is the path below `docs/`, from which the build reads the document. */
export const operatorPages = [
  { name: 'try-it', title: 'Try it', file: 'install/try-it.md' },
  { name: 'one-server', title: 'One server', file: 'install/one-server.md' },
  { name: 'containers', title: 'Docker Compose', file: 'install/containers.md' },
  { name: 'install-kubernetes', title: 'Kubernetes', file: 'install/kubernetes.md' },
  { name: 'kubernetes', title: 'Squids on Kubernetes', file: 'kubernetes.md' },
  { name: 'operate', title: 'Operate an installation', file: 'operate.md' },
  { name: 'operators-console', title: 'Operator’s console', file: 'operators.md' },
  { name: 'security', title: 'Security', file: 'security.md' },
  { name: 'secrets', title: 'Secrets', file: 'secrets.md' },
  { name: 'permissions', title: 'Permissions', file: 'permissions.md' },
  { name: 'alerts', title: 'Alerts', file: 'alerts.md' },
  { name: 'logs', title: 'Logs in their own database', file: 'logs.md' },
  { name: 'hasura', title: 'The addon hasura', file: 'hasura.md' },
  { name: 'rpc', title: 'RPC nodes', file: 'rpc.md' },
  { name: 'billing', title: 'Billing', file: 'billing.md' },
  { name: 'reliability', title: 'Reliability', file: 'reliability.md' },
]
