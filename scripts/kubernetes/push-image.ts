import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { create } from 'tar'

type Descriptor = { mediaType: string; digest: string; size: number }
/** A repository of a registry, and the headers of all requests to it. */
type Repository = { url: string; headers: Record<string, string> }

const mediaTypePrefix = 'application/vnd.oci.image'

/**
 * Pushes an image with one static program, which is its entrypoint, to a registry.
 * @param name `host:port/repository:tag`
 * @param authorization the value of the Authorization header, if the registry requires one
 * @throws with the registry's response if it refuses the image
 */
export async function pushImage(name: string, program: string, authorization?: string): Promise<void> {
  const [, host = '', path = '', tag = ''] = /^([^/]+)\/(.+):([^:]+)$/.exec(name) ?? []
  const repository: Repository = { url: `http://${host}/v2/${path}`, headers: authorization ? { authorization } : {} }
  const layer = await pack(program)
  const layers = [await pushBlob(repository, `${mediaTypePrefix}.layer.v1.tar`, layer)]
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    // `pause` is a command of test/kube/pod. Containers of other programs must set their own arguments.
    config: { Entrypoint: [`/${basename(program)}`], Cmd: ['pause'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
  }
  const descriptor = await pushBlob(
    repository,
    `${mediaTypePrefix}.config.v1+json`,
    Buffer.from(JSON.stringify(config)),
  )
  const mediaType = `${mediaTypePrefix}.manifest.v1+json`
  const ociManifest = JSON.stringify({ schemaVersion: 2, mediaType, config: descriptor, layers })
  const headers = { ...repository.headers, 'content-type': mediaType }
  await request(`${repository.url}/manifests/${tag}`, 'PUT', headers, Buffer.from(ociManifest))
}

async function pack(program: string): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'image-'))
  try {
    copyFileSync(program, join(folder, basename(program)))
    return await buffer(create({ cwd: folder, portable: true }, [basename(program)]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function pushBlob({ url, headers }: Repository, mediaType: string, content: Buffer): Promise<Descriptor> {
  const digest = digestOf(content)
  const upload = await request(`${url}/blobs/uploads/`, 'POST', headers, Buffer.alloc(0))
  const location = new URL(upload.headers.get('location') ?? '', url)
  location.searchParams.set('digest', digest)
  await request(location.href, 'PUT', { ...headers, 'content-type': 'application/octet-stream' }, content)
  return { mediaType, digest, size: content.length }
}

async function request(url: string, method: string, headers: Record<string, string>, body: Buffer): Promise<Response> {
  const response = await fetch(url, { method, headers, body: new Uint8Array(body) })
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`)
  await response.body?.cancel()
  return response
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
