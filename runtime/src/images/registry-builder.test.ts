import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createReadStream, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Registry, hasRegistry, startRegistry } from '../../../scripts/registry.ts'
import { type BuilderHarness, LOCKFILES, TINY, buildRequest, openBuilderHarness } from '../build/builder-harness.ts'
import type { Builder } from '../builder.ts'
import { type ImageRegistry, type RegistrySettings, openImageRegistry } from './image-registry.ts'
import { type RegistryBuilderOptions, createRegistryBuilder } from './registry-builder.ts'
import { MEDIA_TYPES } from './registry/blob.ts'
import { type ChooseFault, type Relay, startRelay } from './registry/registry-harness.ts'
import { pushStoredImages, storedImages } from './stored-images.ts'

// On a loaded machine, programs start slowly.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let harness: BuilderHarness
let registry: Registry

beforeAll(async () => {
  if (!hasRegistry) return
  registry = await startRegistry()
  harness = await openBuilderHarness()
})

afterAll(async () => {
  await harness?.dispose()
  await registry?.stop()
})

type Opened = { builder: Builder; opened: ImageRegistry; relay: Relay; messages: string[]; dir: string }

let count = 0

type OpenOptions = RegistrySettings & Pick<RegistryBuilderOptions, 'names'> & { isNew: boolean }

/**
 * Opens a builder whose requests to the registry are counted. All builders use the same path in the registry and the same records on this
 * host, so that only the first one compresses and pushes the base; `isNew` gives the builder its own path and records.
 */
async function open(
  { names = 'in registry', isNew = false, ...changes }: Partial<OpenOptions> = {},
  chooseFault?: ChooseFault,
): Promise<Opened> {
  const relay = await startRelay(registry.host, chooseFault)
  onTestFinished(() => relay.stop())
  const messages: string[] = []
  const name = isNew ? `squids-${(count += 1)}` : 'squids-shared'
  const dir = join(harness.stateDir, name)
  const settings = { registry: `${relay.host}/${name}`, baseImage: null, authFile: null, ...changes }
  const opened = await openImageRegistry(settings, dir)
  const options: RegistryBuilderOptions = {
    registry: opened,
    builder: harness.builder,
    imagesDir: harness.imagesDir,
    dir,
    names,
    concurrency: 2,
    log: (message) => messages.push(message),
  }
  return { builder: await createRegistryBuilder(options), opened, relay, messages, dir }
}

let sources = 0

async function build(builder: Builder, files: Record<string, string> = {}, tenant = 'acme') {
  const { key } = await harness.unpack({ ...TINY, ...LOCKFILES.npm, 'source.txt': `${(sources += 1)}`, ...files })
  const log: string[] = []
  const built = await builder.build(buildRequest(key, log, { tenant }))
  return { ...built, log }
}

type Descriptor = { mediaType: string; digest: string; size: number }
type ManifestJson = { config: Descriptor; layers: Descriptor[] }

async function fetchJson<T>(path: string): Promise<T> {
  const response = await fetch(`http://${registry.host}/v2/${path}`, {
    headers: { accept: `${MEDIA_TYPES.manifest}, */*` },
  })
  expect(response.status, path).toBe(200)
  return (await response.json()) as T
}

/** Splits `host/repository@digest`. */
function partsOf(image: string): { repository: string; digest: string } {
  const [, repository = '', digest = ''] = /^[^/]+\/(.+)@(.+)$/.exec(image) ?? []
  return { repository, digest }
}

const manifestOf = (image: string): Promise<ManifestJson> => {
  const { repository, digest } = partsOf(image)
  return fetchJson(`${repository}/manifests/${digest}`)
}

async function isInRegistry(image: string): Promise<boolean> {
  const { repository, digest } = partsOf(image)
  const headers = { accept: MEDIA_TYPES.manifest }
  return (await fetch(`http://${registry.host}/v2/${repository}/manifests/${digest}`, { headers })).ok
}

/** Reads the content of a layer from the files of the registry. */
async function layerText({ digest }: Descriptor): Promise<string> {
  const [, hex = ''] = digest.split(':')
  const [file = ''] = globSync(`${registry.folder}/docker/registry/v2/blobs/sha256/*/${hex}/data`)
  return await text(createReadStream(file).pipe(createGunzip()))
}

describe.skipIf(!hasRegistry)('with a registry', () => {
  test('images that were stored without a registry are pushed once, and known by both names', async () => {
    const { image: local } = await build(harness.builder)
    const { stateDir } = harness
    const registryName = `http://${registry.host}/stored`
    expect(await storedImages(stateDir, registryName)).toContainEqual({ local, pushed: null })
    const push = async () => {
      let count = 0
      const names = await pushStoredImages({
        stateDir,
        registry: { registry: registryName, baseImage: null, authFile: null },
        images: [{ local, tenant: 'acme' }],
        onPushed: () => count++,
        signal: AbortSignal.timeout(120_000),
      })
      return { count, pushed: names.get(local) ?? '' }
    }
    const { count, pushed } = await push()
    expect(count).toBe(1)
    expect(pushed).toMatch(/\/stored\/oacme@sha256:/)
    expect(await isInRegistry(pushed)).toBe(true)
    expect(await storedImages(stateDir, registryName)).toContainEqual({ local, pushed })
    expect((await push()).pushed).toBe(pushed)
    const missing = pushStoredImages({
      stateDir,
      registry: { registry: registryName, baseImage: null, authFile: null },
      images: [{ local: 'abcdef', tenant: 'acme' }],
      onPushed: () => {},
      signal: AbortSignal.timeout(10_000),
    })
    await expect(missing).rejects.toThrow()
  })

  test('a second deployment with unchanged dependencies uploads only its app, less than 1 MB', async () => {
    const { builder, relay } = await open({ isNew: true })
    const first = await build(builder)
    const manifest = await manifestOf(first.image)
    const coldBytes = relay.sentBytes()
    expect(coldBytes).toBeGreaterThan(20e6)
    const second = await build(builder)
    expect(relay.sentBytes() - coldBytes).toBeLessThan(1e6)
    const { layers } = await manifestOf(second.image)
    expect(layers.slice(0, -1)).toEqual(manifest.layers.slice(0, -1))
    expect(layers.at(-1)).not.toEqual(manifest.layers.at(-1))
    const another = await build(builder, {}, 'another tenant')
    expect(partsOf(another.image).repository).not.toBe(partsOf(first.image).repository)
    expect(relay.sentBytes() - coldBytes, 'tenants share the base and the tools').toBeLessThan(1e6)
  })

  test('dependencies that were pushed in advance are not pushed with the image, which is the same', async () => {
    const files = { 'source.txt': 'in advance' }
    const plain = await build((await open()).builder, files)
    const { image: local } = await build(harness.builder, files)
    const folder = join(harness.imagesDir, local)
    const { dependencyKey } = JSON.parse(readFileSync(join(folder, 'image.json'), 'utf8')) as { dependencyKey: string }
    const { builder, opened, relay } = await open({ isNew: true })
    const push = { signal: AbortSignal.timeout(120_000), onOmitted: () => undefined }
    const modules = join(folder, 'app/node_modules')
    expect(await opened.pushDependencies('acme', modules, dependencyKey, push)).toBeGreaterThan(1000)
    const uploads = () => relay.requests.filter(({ method }) => method === 'PATCH').length
    expect(uploads()).toBe(1)
    expect(await opened.pushDependencies('acme', modules, dependencyKey, push)).toBe(0)
    const { image } = await build(builder, files)
    expect(partsOf(image).digest).toBe(partsOf(plain.image).digest)
    // The base and the tools, each once, the app and the config.
    expect(uploads()).toBe(5)
  })

  test('the same source has the same digest on another host, where nothing is uploaded', async () => {
    const { builder, relay } = await open()
    const files = { 'source.txt': 'the same' }
    const { image } = await build(builder, files)
    const other = await openBuilderHarness()
    onTestFinished(() => other.dispose())
    const bytes = relay.sentBytes()
    const { key } = await other.unpack({ ...TINY, ...LOCKFILES.npm, ...files })
    const dir = join(other.stateDir, 'oci')
    const settings = {
      registry: `${relay.host}/${partsOf(image).repository.split('/')[0]}`,
      baseImage: null,
      authFile: null,
    }
    const otherBuilder = await createRegistryBuilder({
      registry: await openImageRegistry(settings, dir),
      builder: other.builder,
      imagesDir: other.imagesDir,
      dir,
      names: 'in registry',
      concurrency: 2,
      log: () => undefined,
    })
    expect((await otherBuilder.build(buildRequest(key, []))).image).toBe(image)
    expect(relay.sentBytes() - bytes, 'only the manifest').toBeLessThan(10_000)
  })

  test('an image starts Shoal’s first process, names its user and folder, and contains neither credentials nor build files', async () => {
    const authFile = join(harness.stateDir, 'auth.json')
    writeFileSync(authFile, JSON.stringify({ auths: { 'registry.example.com': { auth: 'c2VjcmV0OnNlY3JldA==' } } }))
    const { builder } = await open({ authFile })
    const { image } = await build(builder, {
      '.env': 'TOKEN=in-the-archive',
      '.npmrc': '//packages.example.com/:_authToken=in-the-archive',
    })
    const { config, layers } = await manifestOf(image)
    const { repository } = partsOf(image)
    const json = await fetchJson<{ config: Record<string, unknown>; rootfs: { diff_ids: string[] } }>(
      `${repository}/blobs/${config.digest}`,
    )
    expect(json.config).toMatchObject({ User: '1000:1000', Entrypoint: ['/shoal/init'], WorkingDir: '/squid' })
    expect(json.config['Env']).toEqual([
      'LANG=C.UTF-8',
      expect.stringMatching(
        /^PATH=\/squid\/node_modules\/\.bin:.*\/shoal\/toolchain\/bin:\/shoal\/node\/bin:.*:\/bin$/,
      ),
    ])
    expect(json.rootfs.diff_ids).toHaveLength(layers.length)
    const contents = await Promise.all(layers.slice(-2).map(layerText))
    expect(contents.join()).not.toMatch(/in-the-archive|c2VjcmV0|_authToken/)
    expect(contents[0]).toContain('squid/node_modules/ms/')
    expect(contents[0]).not.toContain('squid/node_modules/wrappy/')
    expect(contents[1]).toContain('squid/lib/main.js')
  })

  test('a source that was built before is neither built nor pushed, unless the registry no longer has its image', async () => {
    const { builder, relay } = await open()
    const files = { 'source.txt': 'built before' }
    const { image } = await build(builder, files)
    const bytes = relay.sentBytes()
    expect(await build(builder, files)).toMatchObject({ image, reused: true })
    expect(relay.sentBytes()).toBe(bytes)
    const { repository, digest } = partsOf(image)
    await fetch(`http://${registry.host}/v2/${repository}/manifests/${digest}`, { method: 'DELETE' })
    await registry.collectGarbage()
    expect((await build(builder, files)).image).toBe(image)
    expect((await manifestOf(image)).layers.length).toBeGreaterThan(3)
  })

  test('removing an image deletes it from the registry and from this host, and keeps other images', async () => {
    const { builder } = await open()
    const [removed, kept] = [await build(builder), await build(builder)]
    const listed = async () => (await builder.listImages()).map(({ image }) => image)
    expect(await listed()).toEqual(expect.arrayContaining([removed.image, kept.image]))
    await builder.removeImage(removed.image)
    await builder.removeImage(removed.image)
    expect(await listed()).not.toContain(removed.image)
    expect(await isInRegistry(removed.image)).toBe(false)
    expect(await isInRegistry(kept.image)).toBe(true)
    await registry.collectGarbage()
    expect((await manifestOf(kept.image)).layers.length).toBeGreaterThan(3)
  })

  test('a registry that refuses to delete an image is reported, and the image is still removed from this host', async () => {
    const { builder, messages } = await open({}, (method) => (method === 'DELETE' ? { status: 405 } : null))
    const { image } = await build(builder)
    await builder.removeImage(image)
    expect(messages).toEqual([
      expect.stringContaining(`does not permit Shoal to delete images: ${image} remains there`),
    ])
    expect((await builder.listImages()).map((stored) => stored.image)).not.toContain(image)
  })

  test('for a runtime on this host, images keep their local names and are pushed too', async () => {
    const { builder, dir } = await open({ names: 'stored', isNew: true })
    const { image } = await build(builder)
    expect(existsSync(join(harness.imagesDir, image, 'app'))).toBe(true)
    const [file = ''] = globSync(join(dir, 'images/*.json'))
    const record = JSON.parse(readFileSync(file, 'utf8')) as { repository: string; digest: string }
    const name = `${registry.host}/${record.repository}@${record.digest}`
    expect((await manifestOf(name)).layers.length).toBeGreaterThan(3)
    await builder.removeImage(image)
    expect(existsSync(join(harness.imagesDir, image))).toBe(false)
    expect(await isInRegistry(name)).toBe(false)
  })

  test('images can be based on an image in a registry, which is copied once', async () => {
    const source = await open()
    const base = await build(source.builder)
    const baseManifest = await manifestOf(base.image)
    const { builder, relay } = await open({ baseImage: base.image, isNew: true })
    const { image } = await build(builder)
    const { layers } = await manifestOf(image)
    expect(layers.slice(0, baseManifest.layers.length)).toEqual(baseManifest.layers)
    const bytes = relay.sentBytes()
    await build(builder)
    expect(relay.sentBytes() - bytes).toBeLessThan(1e6)
  })

  test('if the registry responds with errors, the build fails and names the registry, and the next build pushes', async () => {
    let isDown = true
    const { builder, relay } = await open({}, () => (isDown ? { status: 500 } : null))
    const files = { 'source.txt': 'registry down' }
    await expect(build(builder, files)).rejects.toThrow(`Could not find a layer or image in ${relay.host}/squids-`)
    isDown = false
    expect((await build(builder, files)).image).toContain('@sha256:')
  })
})
