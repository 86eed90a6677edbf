import { webcrypto } from 'node:crypto'
import { days, systemClock, type Clock } from '../clock.ts'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }

/** Creates a self-signed certificate for a name, in PEM. It is valid for a week. */
export async function createSelfSigned(
  name: string,
  clock: Clock = systemClock,
): Promise<{ cert: string; key: string }> {
  // Loaded only when it is needed: most installations and all commands never need it.
  const { SubjectAlternativeNameExtension, X509CertificateGenerator } = await import('@peculiar/x509')
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const nowMs = clock.now().getTime()
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: 'CN=Shoal self-signed',
      notBefore: new Date(nowMs - days(1)),
      notAfter: new Date(nowMs + days(7)),
      keys,
      signingAlgorithm: algorithm,
      extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
    },
    webcrypto,
  )
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
  }
}
