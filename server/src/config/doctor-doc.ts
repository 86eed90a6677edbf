/** The checks of `shoal doctor`, the problems that each reports, and the remedies, as a table of `docs/operate.md`. */
export const doctorTable = `| check | reports a problem if | remedy |
|---|---|---|
| \`server\` | no server runs, it is not ready, or its version differs from that of the command | start or restart the server; correct what the check names |
| \`ports\` | a port is used by another program, the server is not permitted to open it, or a server runs but does not accept connections on it | stop that program, or choose another port |
| \`disk\` | less than twice the reserve is free (\`SHOAL_DISK_RESERVE_PERCENT\`); fails below the reserve | delete versions, old backups, or \`builds/cache\` while the server is stopped |
| \`limits\` | the server's limit of open files is below 65,536, or its limit of processes below 4,096; fails below 4,096 files or 512 processes | \`LimitNOFILE\` and \`LimitNPROC\` in the unit, or \`ulimit\` before the start |
| \`sandbox\` | bubblewrap is missing or does not work, or the kernel has no system call filters | install bubblewrap 0.7 or newer, allow user namespaces, unset \`SHOAL_SANDBOX\` |
| \`cgroups\` | memory and CPU of squids are not limited | run as root, or in a delegated cgroup |
| \`network of squids\` | squids share the network of the host | install iproute2 and nftables (without root: passt and nftables), unset \`SHOAL_NETWORK\` |
| \`disk of squids\` | the disk space of squids is not limited | install e2fsprogs and run as root where loop devices can be used, or use btrfs with quotas |
| \`users of squids\` | all squids run as one user | run as root, with setpriv (util-linux) |
| \`clock\` | it differs by more than 5 s from the clocks of external Postgres servers and of web servers that Shoal uses, such as RPC nodes; fails above a minute | \`apt-get install systemd-timesyncd\`, \`timedatectl set-ntp true\` |
| \`Postgres of Shoal\`, \`Postgres of squids\`, \`Postgres of logs\` | it does not respond, is older than version 14, 80 % (fails: 95 %) of its connections are open, or it may not create databases | read \`postgres.log\`, upgrade it, raise the connections, grant \`createdb createrole\` |
| \`keys\` | other users can read a file with keys, or \`secrets.key\` is missing | \`chmod 600\`; restore the key from your copy |
| \`mail\` | there is no mail server, or it refuses the sign-in | \`SHOAL_MAIL_URL\` and \`SHOAL_MAIL_FROM\`, its password, the firewall |
| \`RPC nodes\` | a node of a chain does not respond; fails if no node of a configured chain responds | correct their URLs in \`SHOAL_RPC_CONFIG\`, or the connection to the internet |
| \`backup\` | the last one is older than 26 hours; fails after a week | \`shoal backup\` on a timer |
| \`certificates\` | a public address is not encrypted, is rejected by clients, or expires within two weeks | the proxy in front, DNS, the firewall |
| \`registry\` | it rejects the credentials or does not respond | \`SHOAL_REGISTRY\`, \`SHOAL_REGISTRY_AUTH_FILE\`, its certificate |
| \`Kubernetes\` | the API server does not respond, or rights are missing | \`SHOAL_KUBECONFIG\`; grant the rights that are named |
| \`S3\` | the bucket rejects the credentials or does not respond | the setting that is named, or the policy of the bucket |`
