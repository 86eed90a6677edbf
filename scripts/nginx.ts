import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../e2e/support/free-port.ts'
import { findNginx } from './debian-packages.ts'

export type Nginx = {
  url: string
  /** Returns the lines of the error log, without refused connections to servers, which tests cause intentionally. */
  errors(): string
  stop(): Promise<void>
}

type NginxOptions = {
  /** The servers behind nginx, each as `host:port` or `unix:<path>`. nginx uses them in turn. */
  servers: string[]
  /** Maximum number of idle connections that nginx keeps open to the servers. With 0, it opens a connection for each request. */
  keepAlive: number
}

function configuration(folder: string, port: number, { servers, keepAlive }: NginxOptions): string {
  return `
worker_processes auto;
daemon off;
user root;
pid ${folder}/pid;
error_log ${folder}/error.log warn;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  keepalive_requests 1000000;
  upstream servers {
    zone servers 256k;
    ${servers.map((server) => `server ${server} max_fails=1 fail_timeout=1s;`).join('\n    ')}
    ${keepAlive > 0 ? `keepalive ${keepAlive};` : ''}
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 200m;
    location / {
      proxy_pass http://servers;
      proxy_http_version 1.1;
      proxy_set_header Connection "${keepAlive > 0 ? '' : 'close'}";
      proxy_connect_timeout 5s;
      proxy_read_timeout 120s;
      add_header x-server $upstream_addr always;
    }
  }
}
`
}

/**
 * Starts Debian's nginx on a free loopback port. nginx retries a POST with another server only if it has not sent the request yet. The
 * response header `x-server` lists the servers that it has tried.
 * @throws if nginx is not installed or does not start
 */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const program = findNginx()
  if (!program) throw new Error('nginx is not installed: apt-get install nginx-light')
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration(folder, port, options))
  const nginx = spawn(program, ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await untilListening(port, nginx)
  const stop = async () => {
    const ended = new Promise((resolve) => nginx.once('exit', resolve))
    nginx.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const errors = () =>
    readFileSync(join(folder, 'error.log'), 'utf8')
      .split('\n')
      .filter((line) => !/Connection refused|temporarily disabled/.test(line))
      .join('\n')
  return { url: `http://127.0.0.1:${port}`, errors, stop }
}

async function untilListening(port: number, nginx: ChildProcess): Promise<void> {
  while (nginx.exitCode === null) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return
    await delay(20)
  }
  throw new Error(`nginx ended with code ${nginx.exitCode}`)
}
