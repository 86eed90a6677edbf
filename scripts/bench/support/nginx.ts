import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../../e2e/support/shoal.ts'

const program = '/usr/sbin/nginx'

export type Nginx = { url: string; stop(): Promise<void> }

function configuration(folder: string, port: number, socketPath: string): string {
  return `
worker_processes auto;
daemon off;
user root;
pid ${folder}/pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream squid {
    server unix:${socketPath};
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://squid;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`
}

/** Debian's nginx on a free port, with connections to the socket kept alive as the gateway keeps them. */
export async function startNginx(socketPath: string): Promise<Nginx> {
  if (!existsSync(program)) throw new Error('This bench needs nginx: apt-get install nginx-light')
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configuration(folder, port, socketPath))
  const nginx = spawn(program, ['-c', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}`
  await untilAnswers(url, nginx)
  const stop = async () => {
    const ended = new Promise((resolve) => nginx.once('exit', resolve))
    nginx.kill('SIGTERM')
    await ended
  }
  return { url, stop }
}

async function untilAnswers(url: string, nginx: ChildProcess): Promise<void> {
  while (nginx.exitCode === null) {
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    await delay(50)
  }
  throw new Error(`nginx ended with code ${nginx.exitCode}`)
}
