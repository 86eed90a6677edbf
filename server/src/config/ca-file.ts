import { X509Certificate } from 'node:crypto'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { InvalidSettingError, invalidSettingMessage, readFileOfSetting } from './invalid-setting.ts'

const setting = 'SHOAL_CA_FILE'

/**
 * Makes all TLS connections of this process trust the authorities in SHOAL_CA_FILE, in addition to the public ones. Does nothing without
 * that setting. Must be called before the first connection.
 * @throws InvalidSettingError if the file cannot be read or contains no certificate
 */
export function trustAuthorities({ SHOAL_CA_FILE: file }: { SHOAL_CA_FILE?: string | undefined }): void {
  if (file === undefined) return
  const certificates = parseCertificates(file, readFileOfSetting(setting, file))
  setDefaultCACertificates([...getCACertificates('default'), ...certificates])
}

function parseCertificates(file: string, content: string): string[] {
  const certificates = content.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    if (certificates.length === 0) throw new Error('The file contains no certificate')
    // The constructor rejects text that is not a certificate.
    return certificates.map((text) => new X509Certificate(text).toString())
  } catch (error) {
    throw new InvalidSettingError(invalidSettingMessage(setting, file, 'a file with certificates in PEM'), {
      cause: error,
    })
  }
}
