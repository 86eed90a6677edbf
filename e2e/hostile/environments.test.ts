import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { bareManifest, postgresAddon } from '../support/bare-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { makePgSquid } from '../support/pg-squid.ts'
import { makeDataDir, startShoal, type Shoal } from '../support/shoal.ts'

const isRoot = process.getuid?.() === 0
const canary = (name: string) => `canary${name}${randomBytes(9).toString('hex')}`

/** A canary in each secret setting of a server, by setting. */
const canaries = {
  DATABASE_URL: canary('database'),
  SHOAL_SECRETS_KEY: randomBytes(32).toString('base64'),
  SHOAL_MAIL_URL: canary('mail'),
  SHOAL_GOOGLE_CLIENT_SECRET: canary('google'),
  SHOAL_GITHUB_CLIENT_SECRET: canary('github'),
  SHOAL_TURNSTILE_SECRET_KEY: canary('turnstile'),
  SHOAL_STRIPE_SECRET_KEY: `sk_test_${canary('stripe')}`,
  SHOAL_STRIPE_WEBHOOK_SECRET: `whsec_${canary('webhook')}`,
  SHOAL_METRICS_TOKEN: canary('metrics'),
  AWS_SECRET_ACCESS_KEY: canary('aws'),
}
const squidSecret = canary('squid')

const settings = {
  SHOAL_SECRETS_KEY: canaries.SHOAL_SECRETS_KEY,
  // No server listens at this port, so emails wait.
  SHOAL_MAIL_URL: `smtp://shoal:${canaries.SHOAL_MAIL_URL}@127.0.0.1:1`,
  SHOAL_GOOGLE_CLIENT_ID: 'google',
  SHOAL_GOOGLE_CLIENT_SECRET: canaries.SHOAL_GOOGLE_CLIENT_SECRET,
  SHOAL_GITHUB_CLIENT_ID: 'github',
  SHOAL_GITHUB_CLIENT_SECRET: canaries.SHOAL_GITHUB_CLIENT_SECRET,
  SHOAL_TURNSTILE_SITE_KEY: 'turnstile',
  SHOAL_TURNSTILE_SECRET_KEY: canaries.SHOAL_TURNSTILE_SECRET_KEY,
  SHOAL_STRIPE_SECRET_KEY: canaries.SHOAL_STRIPE_SECRET_KEY,
  SHOAL_STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
  SHOAL_STRIPE_WEBHOOK_SECRET: canaries.SHOAL_STRIPE_WEBHOOK_SECRET,
  SHOAL_METRICS_TOKEN: canaries.SHOAL_METRICS_TOKEN,
  AWS_SECRET_ACCESS_KEY: canaries.AWS_SECRET_ACCESS_KEY,
}

const pids = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name))
const read = (path: string) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // The process has already ended, or is a kernel thread.
    return ''
  }
}

/**
 * Reads the environments and command lines of all processes of the host, repeatedly. `found` has three sets of command lines: of processes
 * whose environment contains a secret of the server, of processes whose environment contains the squid's secret, and command lines that
 * themselves contain a secret.
 */
function watchProcesses() {
  const found = { ofServer: new Set<string>(), ofSquid: new Set<string>(), inCommandLine: new Set<string>() }
  const secrets = Object.values(canaries)
  let samples = 0
  const sample = () => {
    samples += 1
    for (const pid of pids()) {
      const line = read(`/proc/${pid}/cmdline`)
      const environment = read(`/proc/${pid}/environ`)
      // If the command line changed between the readings, the environment may belong to the program that the process ran before.
      if (line !== read(`/proc/${pid}/cmdline`)) continue
      const shown = line.replaceAll('\0', ' ').trim()
      if (secrets.some((secret) => environment.includes(secret))) found.ofServer.add(shown)
      if (environment.includes(squidSecret)) found.ofSquid.add(shown)
      if ([...secrets, squidSecret].some((secret) => line.includes(secret))) found.inCommandLine.add(shown)
    }
  }
  const timer = setInterval(sample, 20)
  return { found, samples: () => samples, stop: () => clearInterval(timer) }
}

/** Arguments of setpriv. A user may read the environment of a process only if its group is the same, too. */
const asUser = (uid: number) => ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups']

/** Returns the ids of the processes in whose environment or command line a user of the host finds one of the texts. */
async function readAs(uid: number, texts: string[]): Promise<string[]> {
  const program = `
const { readdirSync, readFileSync } = require('node:fs')
const texts = JSON.parse(readFileSync(0, 'utf8'))
const read = (path) => { try { return readFileSync(path, 'utf8') } catch { return '' } }
const has = (pid) => texts.some((text) => read('/proc/' + pid + '/environ').includes(text) || read('/proc/' + pid + '/cmdline').includes(text))
console.log(JSON.stringify(readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && has(name))))`
  const child = spawn('setpriv', [...asUser(uid), process.execPath, '-e', program], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(texts))
  return JSON.parse(await text(child.stdout)) as string[]
}

let postgres: ExternalPostgres
let shoal: Shoal
let project: string
let watch: ReturnType<typeof watchProcesses>

beforeAll(async () => {
  if (!isRoot) return
  postgres = await startExternalPostgres()
  const admin = new Client({ connectionString: postgres.url('postgres') })
  await admin.connect()
  await admin.query(`create role canary superuser login password '${canaries.DATABASE_URL}'`)
  await admin.end()
  const url = new URL(postgres.url('shoal'))
  url.username = 'canary'
  url.password = canaries.DATABASE_URL
  watch = watchProcesses()
  // A new data directory without tools, so that the server also runs npm.
  shoal = await startShoal({ ...settings, DATABASE_URL: url.href }, makeDataDir())
  const org = await addOrg(shoal, 'canaries')
  const secrets = [{ action: 'UPDATE' as const, name: 'SECRET', value: squidSecret }]
  await org.api.secrets.change({ params: { code: org.org }, body: { secrets } })
  project = makePgSquid('canaries', {
    'squid.yaml': bareManifest('canaries', `  env:\n    SECRET: \${{ secrets.SECRET }}\n${postgresAddon}`),
  })
  const deployer = { ...org, shoal, project }
  const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: 'canaries', slot: 'v1' }))
  expect(deployment.failureReason).toBeNull()
}, 240_000)

afterAll(async () => {
  watch?.stop()
  if (project) rmSync(dirname(project), { recursive: true, force: true })
  await shoal?.end()
  await postgres?.stop()
})

test('only the server and the operator’s commands have the secrets of the server in their environment, and no command line contains one', ({
  skip,
}) => {
  skip(!isRoot, 'only root can read the environments of all processes')
  const isAllowed = (line: string) => /server\/src\/(main|cli)\.ts/.test(line)
  expect([...watch.found.ofServer].filter((line) => !isAllowed(line))).toEqual([])
  expect([...watch.found.ofServer].some((line) => line.includes('server/src/main.ts'))).toBe(true)
  expect([...watch.found.inCommandLine]).toEqual([])
  expect(watch.samples()).toBeGreaterThan(20)
})

test('only the programs of a squid have the squid’s secret in their environment', ({ skip }) => {
  skip(!isRoot, 'only root can read the environments of all processes')
  const lines = [...watch.found.ofSquid]
  for (const program of ['api.js', 'processor.js']) expect(lines.some((line) => line.includes(program))).toBe(true)
  expect(lines.filter((line) => /main\.ts|postgres|npm|pasta|mkfs|mount /.test(line))).toEqual([])
})

test('no other user of the host, not even that of the squid, can read a secret of the server', async ({ skip }) => {
  skip(!isRoot, 'only root can become other users')
  const squid = pids().find((pid) => read(`/proc/${pid}/environ`).includes(squidSecret)) ?? ''
  const squidUid = statSync(`/proc/${squid}`).uid
  const secrets = Object.values(canaries)
  expect(squidUid).toBeGreaterThanOrEqual(200_000)
  for (const uid of [squidUid, 65_534]) {
    const own = canary('own')
    const control = spawn('setpriv', [...asUser(uid), 'sleep', '1000'], {
      env: { PATH: '/usr/bin:/bin', OWN: own },
      stdio: 'ignore',
    })
    try {
      // The user finds the secret of one of its processes, which shows that the search works.
      await expect.poll(() => readAs(uid, [own])).toEqual([`${control.pid}`])
      expect(await readAs(uid, secrets)).toEqual([])
    } finally {
      control.kill('SIGKILL')
    }
  }
  expect(await readAs(65_534, [squidSecret])).toEqual([])
  // Root finds the server's secrets, which shows that they can be found.
  expect(await readAs(0, secrets)).not.toEqual([])
})
