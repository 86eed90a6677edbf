import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../root.ts'

/** The folder of the containers, and of the files from which they are copied. */
export const cacheDir = join(root, 'node_modules/.cache/debian-container')
const suite = 'bookworm'
/** The file with the certificate authorities that a machine trusts. */
export const authorities = '/etc/ssl/certs/ca-certificates.crt'

/** `complete`: with Node, npm and all packages of the tests. `bare`: what a new Debian server has. */
export type FilesKind = 'complete' | 'bare'

const packages = {
  bare: 'systemd,systemd-sysv,dbus,ca-certificates',
  complete:
    'systemd,systemd-sysv,dbus,bubblewrap,iproute2,nftables,e2fsprogs,util-linux,procps,ca-certificates,curl,openssl,nginx-light,caddy',
}

const execute = (program: string, args: string[]) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })

/** Returns the folder with the files of a container. The first call on a machine creates them, which takes about 90 seconds. */
export function ensureFiles(kind: FilesKind = 'complete'): string {
  const files = join(cacheDir, kind === 'complete' ? 'files' : `files-${kind}`)
  if (existsSync(files)) return files
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 })
  const part = `${files}.part`
  rmSync(part, { recursive: true, force: true })
  execute('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${packages[kind]}`, suite, part])
  writeFileSync(join(part, 'etc/hosts'), '127.0.0.1 localhost\n')
  cpSync(authorities, join(part, authorities), { dereference: true })
  if (kind === 'complete') {
    for (const unit of ['nginx.service', 'caddy.service'])
      execute('chroot', [part, 'systemctl', 'disable', '--quiet', unit])
    addNode(part)
  }
  renameSync(part, files)
  return files
}

/** Returns the URL of this machine's npm registry, which may be the only one that it can reach. */
export function npmRegistry(): string {
  const args = ['config', 'get', 'registry', '--loglevel=error']
  return execFileSync('npm', args, { cwd: '/', encoding: 'utf8' }).trim().split('\n').at(-1) ?? ''
}

/** Adds Node and npm of this machine, and the URL of its npm registry. */
function addNode(files: string): void {
  const npm = realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())
  cpSync(realpathSync(process.execPath), join(files, 'usr/local/bin/node'))
  const options = { recursive: true, verbatimSymlinks: true }
  cpSync(dirname(dirname(npm)), join(files, 'usr/local/lib/node_modules/npm'), options)
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(files, 'usr/local/bin', name))
  mkdirSync(join(files, 'usr/local/etc'), { recursive: true })
  writeFileSync(join(files, 'usr/local/etc/npmrc'), `registry=${npmRegistry()}\ncafile=${authorities}\n`)
}
