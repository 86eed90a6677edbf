import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeAttackerSquid } from '../support/attacker-squid.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

const isRoot = process.getuid?.() === 0
/** A uid that no squid and no service uses. */
const strangerUid = 199_999
const canary = 'canary-in-the-secret-f3a97c51d0'

let shoal: Shoal
let project: string

/** Waits until the response of the squid shows that its program has the secret. */
const squidHasSecret = () =>
  until(async () => {
    const response = await fetch(`${shoal.gatewayUrl}/files/files@v1/api/?attack=own+secret`)
    return response.ok && (await response.text()).includes(canary) ? true : null
  }, 'the squid has its secret')

beforeAll(async () => {
  shoal = await startShoal()
  const { token, api } = await addOrg(shoal, 'files')
  await api.secrets.change({
    params: { code: 'files' },
    body: { secrets: [{ action: 'UPDATE', name: 'SECRET', value: canary }] },
  })
  project = makeAttackerSquid('files')
  const deployer = { shoal, org: 'files', token, api, project }
  const deployment = await waitForDeployment(deployer, await deploy(deployer, { name: 'files', slot: 'v1' }))
  expect(deployment.failureReason).toBeNull()
  await squidHasSecret()
})

afterAll(async () => {
  if (project) rmSync(dirname(project), { recursive: true, force: true })
  await shoal?.end()
})

/** Returns the paths below `dir`, except symbolic links and the contents of folders for which `except` returns true. */
function pathsBelow(dir: string, except: (path: string) => boolean): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name)
    if (entry.isSymbolicLink() || except(path)) return []
    return entry.isDirectory() ? [path, ...pathsBelow(path, except)] : [path]
  })
}

test('another user of the host can read nothing in the data directory except the programs that all squids use', ({
  skip,
}) => {
  if (!isRoot) skip('needs root')
  const { dataDir } = shoal
  const isPublic = (path: string) =>
    /^(toolchain$|postgres(-squids)?\/native-|[0-9a-f]+-\w+\.(cjs|sh)$)/.test(relative(dataDir, path))
  // The check also includes a public program, to show that it finds readable files.
  const script = readdirSync(dataDir).find((name) => name.endsWith('-preload.cjs')) ?? ''
  const paths = [join(dataDir, script), ...pathsBelow(dataDir, isPublic)]
  expect(paths.length).toBeGreaterThan(1000)
  const program = `while (<STDIN>) { chomp; print "$_\\n" if -d $_ ? opendir(my $d, $_) : open(my $f, '<', $_) }`
  const asStranger = ['--reuid', String(strangerUid), '--regid', String(strangerUid), '--clear-groups']
  const output = execFileSync('setpriv', [...asStranger, 'perl', '-e', program], {
    input: paths.join('\n'),
    encoding: 'utf8',
    maxBuffer: 100e6,
  })
  const readable = output.split('\n').filter(Boolean)
  expect(readable.map((path) => relative(dataDir, path))).toEqual([script])
})

/**
 * Returns the texts with which a search finds `text` in plain, hex and base64 form. There are three base64 forms, depending on the number
 * of bytes before the text. They omit the characters that also depend on the bytes before and after it.
 */
function encodings(text: string): string[] {
  const base64 = [0, 1, 2].map((bytesBefore) => {
    const encoded = Buffer.from('\0'.repeat(bytesBefore) + text).toString('base64url')
    const partial = (bytesBefore + Buffer.byteLength(text)) % 3 === 0 ? encoded.length : encoded.length - 1
    return encoded.slice(Math.ceil((bytesBefore * 4) / 3), partial)
  })
  const hex = Buffer.from(text).toString('hex')
  return [text, hex, hex.toUpperCase(), ...base64]
}

test('neither a file on the disk nor the log of the server contains a secret unencrypted, and a squid keeps its secret when the server is killed', async () => {
  const containers = join(shoal.dataDir, 'containers')
  const desired = readdirSync(containers).map((name) => readFileSync(join(containers, name, 'workload.json'), 'utf8'))
  // The file contains the squid's environment in sealed form.
  expect(desired.length).toBeGreaterThan(0)
  for (const text of desired) expect(JSON.parse(text)).toHaveProperty('sealedEnvironments')
  const search = (texts: string[], dir: string) => {
    const patterns = texts.flatMap((text) => ['-e', text])
    const args = ['-r', '-l', '-a', '-F', '--exclude-dir=toolchain', ...patterns, dir]
    return spawnSync('grep', args, { encoding: 'utf8' }).stdout
  }
  // This shows that the search finds the secret in each encoding, at any offset.
  const example = mkdtempSync(join(tmpdir(), 'shoal-encodings-'))
  try {
    for (const before of ['', 'x', 'xy', 'xyz']) {
      const text = Buffer.from(`${before}${canary} and more`)
      for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
        const file = join(example, `${before.length}.${encoding}`)
        writeFileSync(file, text.toString(encoding))
        expect(search(encodings(canary), file), `${encoding} after ${before.length} bytes`).not.toBe('')
      }
    }
  } finally {
    rmSync(example, { recursive: true })
  }
  // This shows that the search includes these files: it finds a text in them.
  expect(search(['sealedEnvironments'], containers)).not.toBe('')
  expect(search(encodings(canary), shoal.dataDir)).toBe('')

  await shoal.kill()
  await shoal.start()
  await squidHasSecret()
  expect(search(encodings(canary), shoal.dataDir)).toBe('')
  // The log of both servers, which the operator's log collector stores.
  expect(shoal.output()).toContain('"level"')
  for (const encoding of encodings(canary)) expect(shoal.output()).not.toContain(encoding)
  const runs = pathsBelow(containers, () => false).filter((path) => /runs\/\d+$/.test(path))
  // The api and the processor are still in their first runs, because the new server has adopted them.
  expect(runs.map((path) => path.split('/').at(-1))).toEqual(['1', '1'])
})
