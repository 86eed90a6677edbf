import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { App } from '../app.ts'
import { InvalidSettingError } from '../config/invalid-setting.ts'
import { every } from '../db/every.ts'
import type { CertificateSource } from './tls-layer.ts'

type Files = { certificateFile: string; keyFile: string }

const pollMs = 5_000

/**
 * Uses the certificate in two files for all names, and reads the files again when they change. While they do not match, for example
 * between the writes of a renewal, the previous certificate stays in use.
 * `covers`: whether the certificate is for the name.
 * @throws InvalidSettingError if they cannot be used at start
 */
export async function openCertificateFiles(
  { log }: Pick<App, 'log'>,
  files: Files,
): Promise<{ source: CertificateSource; covers: (name: string) => boolean; close: () => void }> {
  let current = await readFiles(files).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    throw new InvalidSettingError(
      `SHOAL_TLS_CERTIFICATE_FILE and SHOAL_TLS_KEY_FILE cannot be used: ${reason.split('\n')[0]}`,
      { cause: error },
    )
  })
  let version = await versionOf(files)
  const closing = new AbortController()
  const onError = (err: unknown) =>
    log.warn({ err }, 'the changed certificate cannot be used; the previous one stays in use')
  void every(closing.signal, { ms: pollMs, onError }, async () => {
    const newVersion = await versionOf(files)
    if (newVersion === version) return
    // Recorded before the files are read, so that unusable files are reported once.
    version = newVersion
    current = await readFiles(files)
    log.info('the changed certificate is in use')
  })
  return {
    source: { contextFor: async () => current.context, challengeFor: async () => null },
    covers: (name) => current.certificate.checkHost(name) !== undefined,
    close: () => closing.abort(),
  }
}

async function readFiles({ certificateFile, keyFile }: Files): Promise<{
  context: SecureContext
  certificate: X509Certificate
}> {
  const [cert, key] = await Promise.all([readFile(certificateFile), readFile(keyFile)])
  const certificate = new X509Certificate(cert)
  if (!certificate.checkPrivateKey(createPrivateKey(key)))
    throw new Error('the certificate does not belong to the private key')
  return { context: createSecureContext({ cert, key }), certificate }
}

async function versionOf({ certificateFile, keyFile }: Files): Promise<string> {
  const [certificate, key] = await Promise.all([stat(certificateFile), stat(keyFile)])
  return [certificate, key].map(({ mtimeMs, size, ino }) => `${mtimeMs}/${size}/${ino}`).join(' ')
}
