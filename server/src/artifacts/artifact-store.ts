import type { Readable } from 'node:stream'

/**
 * Stores the archives of squids, named by the SHA-256 of their content (64 hex digits). The api writes and the worker reads, so a store
 * is shared by all processes of an installation.
 */
export type ArtifactStore = {
  /**
   * Streams content into the store, under a temporary name. Removes the written data if the content or the
   * store fails.
   * @throws ArtifactsUnavailable, or the error of the content
   */
  receive: (content: AsyncIterable<Buffer>) => Promise<ReceivedArtifact>
  /** Reads an artifact. The stream fails with ArtifactMissing, or ArtifactsUnavailable. */
  read: (sha256: string) => Readable
  /** Removes an artifact if it exists. @throws ArtifactsUnavailable */
  remove: (sha256: string) => Promise<void>
  /** Returns the hashes of all artifacts. @throws ArtifactsUnavailable */
  list: () => Promise<string[]>
  /** Removes the temporary data of processes that were killed a while before `now`. @throws ArtifactsUnavailable */
  removeInterrupted: (now: Date) => Promise<void>
  /** Verifies that the store can be used. @throws ArtifactsUnavailable */
  check: () => Promise<void>
  close: () => void
}

export type ReceivedArtifact = {
  sha256: string
  bytes: number
  /** Makes the artifact readable under its hash. Idempotent, even if the content already exists. @throws ArtifactsUnavailable */
  keep: () => Promise<void>
  /** Removes the temporary data, whether or not `keep` was called. Never fails: `removeInterrupted` removes any remaining data. */
  discard: () => Promise<void>
}

/** The artifact does not exist in the store. */
export class ArtifactMissing extends Error {
  override name = 'ArtifactMissing'
}

/** The store does not work. The message names the store and the reason, and contains no credentials. */
export class ArtifactsUnavailable extends Error {
  override name = 'ArtifactsUnavailable'
  /** Whether the operator has to change settings, because a later attempt would fail in the same way. */
  readonly isMisconfigured: boolean
  constructor(message: string, { isMisconfigured = false } = {}) {
    super(message)
    this.isMisconfigured = isMisconfigured
  }
}
