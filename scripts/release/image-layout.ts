import { createWriteStream, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { LayerStore } from '../../runtime/src/images/layers/push-layer.ts'
import { digestOf, MEDIA_TYPES } from '../../runtime/src/images/registry/blob.ts'

/** Stores one image in a folder, as an OCI image layout. `skopeo` reads an archive of it as `oci-archive:`, `crane` the unpacked folder. */
export class ImageLayout implements LayerStore {
  readonly #folder: string
  readonly #name: string

  /** @param name the name of the image in the index, as in `0.2.0` */
  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#name = name
    mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  }

  #fileOf(digest: string): string {
    return join(this.#folder, 'blobs', digest.replace(':', '/'))
  }

  async hasBlob(_repository: string, digest: string): Promise<boolean> {
    return existsSync(this.#fileOf(digest))
  }

  async mountBlob(): Promise<boolean> {
    return false
  }

  async pushBlob(_repository: string, { digest, open }: Parameters<LayerStore['pushBlob']>[1]): Promise<void> {
    await pipeline(open(), createWriteStream(this.#fileOf(digest)))
  }

  /** Writes the manifest, and the index that names it. */
  async putManifest(_repository: string, content: Buffer): Promise<string> {
    const digest = digestOf(content)
    writeFileSync(this.#fileOf(digest), content)
    const { size } = statSync(this.#fileOf(digest))
    const annotations = { 'org.opencontainers.image.ref.name': this.#name }
    const manifests = [{ mediaType: MEDIA_TYPES.manifest, digest, size, annotations }]
    writeJson(join(this.#folder, 'index.json'), { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests })
    writeJson(join(this.#folder, 'oci-layout'), { imageLayoutVersion: '1.0.0' })
    return digest
  }
}

const writeJson = (file: string, value: unknown) => writeFileSync(file, JSON.stringify(value))
