import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../e2e/support/free-port.ts'
import { runCommand } from './command.ts'
import { goInstall, hasGo } from './go-install.ts'
import { type LoopbackProgram, startLoopbackProgram } from './loopback-program.ts'
import { withProgress } from './progress.ts'
import { fillOnce, userCache } from './user-cache.ts'

const version = 'v2.10.1'
const goModule = `github.com/letsencrypt/pebble/v2`
const cacheDir = join(userCache('shoal-pebble'), version)
const inCache = (name: string) => join(cacheDir, name)
/** The files in Pebble's module for the certificate of its API. */
const certificateFiles = ['localhost/cert.pem', 'localhost/key.pem', 'pebble.minica.pem']

/** Returns whether Pebble is in the user's cache. Tests that need it are skipped otherwise. `npm run test:slow` builds it if Go is installed. */
export const hasPebble = (): boolean => existsSync(inCache('pebble'))

/** Builds Pebble, an ACME authority for tests, and its DNS server from their Go module into the user's cache. Does nothing without Go. */
export async function ensurePebble(): Promise<void> {
  if (hasPebble()) return
  if (!(await hasGo())) return console.log('Go is not installed. Tests that need an ACME authority are skipped.')
  await withProgress('Building Pebble for tests of certificates', '  Done: Pebble', () =>
    fillOnce(cacheDir, async (unfinished) => {
      const programs = ['pebble', 'pebble-challtestsrv'].map((name) => `${goModule}/cmd/${name}@${version}`)
      if (!(await goInstall('Pebble', unfinished, programs))) return false
      const modules = (await runCommand('go', ['env', 'GOMODCACHE'])).output.trim()
      const certificates = join(modules, `${goModule}@${version}`, 'test/certs')
      for (const file of certificateFiles)
        copyFileSync(join(certificates, file), join(unfinished, file.replace('/', '-')))
      return true
    }),
  )
}

export type Pebble = {
  /** The ports to which it connects to verify names: those of the tested installation. */
  httpPort: number
  tlsPort: number
  /** The SHOAL_ACME_* settings. */
  settings: { SHOAL_ACME_DIRECTORY_URL: string; SHOAL_ACME_CA_FILE: string }
  /** The address of its DNS server, which resolves all names to loopback unless `dns` has changed a name. */
  dnsServer: string
  /** Returns the root certificate with which it signs, in PEM. Each start creates another one. */
  root: () => Promise<string>
  /** Changes records of the DNS server: `/add-txt` with `{ host, value }`, `/set-cname` with `{ host, target }` and so on. */
  dns: (path: string, body: object) => Promise<void>
  /** Stops the authority, but not the DNS server. */
  stop: () => Promise<void>
  start: () => Promise<void>
  end: () => Promise<void>
}

/** Starts Pebble and its DNS server on loopback. `validitySeconds`: lifetime of its certificates. */
export async function startPebble(options: { validitySeconds?: number } = {}): Promise<Pebble> {
  const dir = mkdtempSync(join(tmpdir(), 'pebble-'))
  const [api, management, httpPort, tlsPort, dns, dnsManagement] = await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  )
  const configFile = join(dir, 'config.json')
  writeFileSync(
    configFile,
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${api}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: inCache('localhost-cert.pem'),
        privateKey: inCache('localhost-key.pem'),
        httpPort,
        tlsPort,
        keyAlgorithm: 'ecdsa',
        retryAfter: { authz: 1, order: 1 },
        domainBlocklist: ['blocked.shoal.test'],
        profiles: { default: { description: '', validityPeriod: options.validitySeconds ?? 7_776_000 } },
      },
    }),
  )
  const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0' }
  const off = ['-defaultIPv6', '-http01', '-https01', '-tlsalpn01', '-doh'].flatMap((name) => [name, ''])
  const dnsArgs = ['-dnsserver', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`]
  const names = run('pebble-challtestsrv', [...dnsArgs, ...off], {})
  let authority: LoopbackProgram | null = null
  const ca = inCache('pebble.minica.pem')
  const settings = { SHOAL_ACME_DIRECTORY_URL: `https://127.0.0.1:${api}/dir`, SHOAL_ACME_CA_FILE: ca }
  const start = async () => {
    const started = run('pebble', ['-config', configFile, '-dnsserver', `127.0.0.1:${dns}`], env)
    authority = started
    await started.waitUntilReady(() => read(settings.SHOAL_ACME_DIRECTORY_URL))
  }
  const stop = async () => await authority?.stop()
  const end = async () => {
    await stop()
    await names.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  const pebble: Pebble = {
    httpPort: httpPort ?? 0,
    tlsPort: tlsPort ?? 0,
    settings,
    dnsServer: `127.0.0.1:${dns}`,
    root: () => read(`https://127.0.0.1:${management}/roots/0`),
    dns: async (path, body) => {
      await fetch(`http://127.0.0.1:${dnsManagement}${path}`, { method: 'POST', body: JSON.stringify(body) })
    },
    start,
    stop,
    end,
  }
  try {
    await names.waitUntilReady(() => fetch(`http://127.0.0.1:${dnsManagement}/`))
    await start()
    return pebble
  } catch (error) {
    await end()
    throw error
  }
}

const run = (name: string, args: string[], env: Record<string, string>) =>
  startLoopbackProgram(inCache(name), args, { cwd: cacheDir, env })

/** Reads a page of Pebble without verifying its certificate, which only the tested server must do. */
const read = (url: string): Promise<string> =>
  new Promise((done, fail) => {
    get(url, { rejectUnauthorized: false, agent: false }, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.once('end', () => done(body))
    }).once('error', fail)
  })
