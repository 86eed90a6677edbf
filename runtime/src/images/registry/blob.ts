import { createHash } from 'node:crypto'

/** The descriptor of a blob or manifest (OCI content descriptor). */
export type Descriptor = { mediaType: string; digest: string; size: number }

export const MEDIA_TYPES = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
}

/** Returns the digest of content as registries name it. */
export const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`
