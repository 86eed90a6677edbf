import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
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
  await withProgress('Building Pebble for tests of certificates', () =>
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

const pebbleEnv = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '0', PEBBLE_AUTHZREUSE: '0' }

type PebblePorts = Record<'api' | 'management' | 'httpPort' | 'tlsPort', number>

/** Returns a configuration of Pebble as text. `folder`: the one with its certificates. `httpPort`, `tlsPort`: the ports to which it connects to verify names. */
const pebbleConfig = (
  folder: string,
  { api, management, httpPort, tlsPort }: PebblePorts,
  validitySeconds = 7_776_000,
): string =>
  JSON.stringify({
    pebble: {
      listenAddress: `127.0.0.1:${api}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: join(folder, 'localhost-cert.pem'),
      privateKey: join(folder, 'localhost-key.pem'),
      httpPort,
      tlsPort,
      keyAlgorithm: 'ecdsa',
      retryAfter: { authz: 1, order: 1 },
      domainBlocklist: ['blocked.shoal.test'],
      profiles: { default: { description: '', validityPeriod: validitySeconds } },
    },
  })

export type Pebble = {
  /** The ports of the tested installation, to which Pebble connects to verify names. */
  httpPort: number
  tlsPort: number
  /** The SHOAL_ACME_* settings. */
  settings: { SHOAL_ACME_DIRECTORY_URL: string; SHOAL_ACME_CA_FILE: string }
  /** The address of its DNS server, which resolves all names to the address of the tested installation unless `dns` has changed a name. */
  dnsServer: string
  /** Returns the root certificate with which it signs, in PEM. Each start creates another one. */
  root: () => Promise<string>
  /** Changes records of the DNS server: `/add-txt` with `{ host, value }`, `/set-cname` with `{ host, target }` and so on. */
  dns: (path: string, body: object) => Promise<void>
  /** Sets the renewal information (RFC 9773) that it returns for a certificate. */
  suggestRenewal: (certificate: string, window: { start: Date; end: Date }) => Promise<void>
  /** Returns the reason for which a certificate was revoked, or null. `serialNumber` in hexadecimal. */
  revocationReason: (serialNumber: string) => Promise<number | null>
  /** Stops the authority, but not the DNS server. */
  stop: () => Promise<void>
  start: () => Promise<void>
  end: () => Promise<void>
}

type PebbleOptions = {
  /** Lifetime of its certificates. */
  validitySeconds?: number
  /** The address of the tested installation, which serves its names on ports 80 and 443. Default: loopback, with free ports. */
  address?: string
}

/** Starts Pebble and its DNS server on loopback. */
export async function startPebble({ validitySeconds, address }: PebbleOptions = {}): Promise<Pebble> {
  const dir = mkdtempSync(join(tmpdir(), 'pebble-'))
  const [api = 0, management = 0, dns, dnsManagement, freeHttp = 0, freeTls = 0] = await Promise.all(
    Array.from({ length: 6 }, () => freePort()),
  )
  const configFile = join(dir, 'config.json')
  const [httpPort, tlsPort] = address === undefined ? [freeHttp, freeTls] : [80, 443]
  const ports = { api, management, httpPort, tlsPort }
  writeFileSync(configFile, pebbleConfig(cacheDir, ports, validitySeconds))
  const off = ['-defaultIPv6', '-http01', '-https01', '-tlsalpn01', '-doh'].flatMap((name) => [name, ''])
  const dnsArgs = ['-dnsserver', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`]
  if (address !== undefined) dnsArgs.push('-defaultIPv4', address)
  const dnsServer = run('pebble-challtestsrv', [...dnsArgs, ...off], {})
  let authority: LoopbackProgram | null = null
  const ca = inCache('pebble.minica.pem')
  const settings = { SHOAL_ACME_DIRECTORY_URL: `https://127.0.0.1:${api}/dir`, SHOAL_ACME_CA_FILE: ca }
  const start = async () => {
    const started = run('pebble', ['-config', configFile, '-dnsserver', `127.0.0.1:${dns}`], pebbleEnv)
    authority = started
    await started.waitUntilReady(() => read(settings.SHOAL_ACME_DIRECTORY_URL))
  }
  const stop = async () => await authority?.stop()
  const end = async () => {
    await stop()
    await dnsServer.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  const pebble: Pebble = {
    httpPort,
    tlsPort,
    settings,
    dnsServer: `127.0.0.1:${dns}`,
    root: () => read(`https://127.0.0.1:${management}/roots/0`),
    suggestRenewal: async (certificate, suggestedWindow) => {
      const body = { Certificate: certificate, ARIResponse: JSON.stringify({ suggestedWindow }) }
      await read(`https://127.0.0.1:${management}/set-renewal-info/`, JSON.stringify(body))
    },
    revocationReason: async (serialNumber) => {
      const status = await read(`https://127.0.0.1:${management}/cert-status-by-serial/${serialNumber}`)
      const { Status, Reason } = JSON.parse(status) as { Status: string; Reason?: number }
      return Status === 'Revoked' ? (Reason ?? 0) : null
    },
    dns: async (path, body) => {
      await fetch(`http://127.0.0.1:${dnsManagement}${path}`, { method: 'POST', body: JSON.stringify(body) })
    },
    start,
    stop,
    end,
  }
  try {
    await dnsServer.waitUntilReady(() => fetch(`http://127.0.0.1:${dnsManagement}/`))
    await start()
    return pebble
  } catch (error) {
    await end()
    throw error
  }
}

const run = (name: string, args: string[], env: Record<string, string>) =>
  startLoopbackProgram(inCache(name), args, { cwd: cacheDir, env })

/** Reads a page of Pebble, or sends it a body. Its certificate is not verified: only the tested server must do that. */
const read = (url: string, body?: string): Promise<string> =>
  new Promise((done, fail) => {
    const method = body === undefined ? 'GET' : 'POST'
    // RFC 8555 requires the name of the client.
    const headers = { 'user-agent': 'shoal-tests' }
    const sent = request(url, { method, headers, rejectUnauthorized: false, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.once('end', () => (response.statusCode === 200 ? done(text) : fail(new Error(`${url}: ${text}`))))
    })
    sent.once('error', fail).end(body)
  })
