import type acme from 'acme-client'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { loadAcme, openAccount, type AuthorityApp } from './authority.ts'
import { replacedId } from './renewal-information.ts'
import { deleteChallenges, insertChallenge } from './store.ts'

export type ChallengeType = 'http-01' | 'tls-alpn-01'
export type IssuedCertificate = { chain: string; key: string; notBefore: Date; notAfter: Date }

/**
 * Orders a certificate for one name, and proves control of the name with a challenge that every process of the installation can
 * respond to. `replaced`: the certificate that the name has now, in PEM.
 * @throws Error with the authority's reason if it refuses, cannot reach this installation or does not respond
 */
export async function orderCertificate(
  app: AuthorityApp,
  name: string,
  { type, replaced }: { type: ChallengeType; replaced: string | null },
): Promise<IssuedCertificate> {
  const client = await openAccount(app)
  const { crypto } = await loadAcme()
  await deleteChallenges(app.db, name)
  try {
    const order = await createOrder(app, client, name, replaced)
    for (const authorization of await client.getAuthorizations(order))
      if (authorization.status !== 'valid') await proveControl(app, client, authorization, name, type)
    const [key, request] = await crypto.createCsr({ altNames: [name] }, await crypto.createPrivateEcdsaKey())
    const chain = await client.getCertificate(await client.finalizeOrder(order, request))
    return verifyIssued(chain, key.toString(), name)
  } finally {
    await deleteChallenges(app.db, name)
  }
}

/** Creates an order that replaces `old` if possible, because authorities do not limit replacements (RFC 9773, section 5). */
async function createOrder(app: AuthorityApp, client: acme.Client, name: string, old: string | null) {
  const request = { identifiers: [{ type: 'dns', value: name }] }
  const replaces = old === null ? null : await replacedId(app, old)
  if (replaces === null) return await client.createOrder(request)
  // The authority rejects the order if another order has replaced the certificate already, or if it has deleted the certificate.
  return await client.createOrder(Object.assign({ replaces }, request)).catch(() => client.createOrder(request))
}

async function proveControl(
  app: AuthorityApp,
  client: acme.Client,
  authorization: acme.Authorization,
  name: string,
  type: ChallengeType,
): Promise<void> {
  const challenge = authorization.challenges.find((candidate) => candidate.type === type)
  if (!challenge) throw new Error(`the authority does not offer ${type} for this name`)
  const keyAuthorization = await client.getChallengeKeyAuthorization(challenge)
  await insertChallenge(app.db, { token: challenge.token, name, type, keyAuthorization, createdAt: app.clock.now() })
  await client.completeChallenge(challenge)
  await client.waitForValidStatus(challenge)
}

/** @throws Error if the authority returned a certificate that clients would reject */
function verifyIssued(chain: string, key: string, name: string): IssuedCertificate {
  const certificate = new X509Certificate(chain)
  if (certificate.checkHost(name) === undefined) throw new Error('the authority issued a certificate for another name')
  if (!certificate.checkPrivateKey(createPrivateKey(key)))
    throw new Error('the authority issued a certificate for another key')
  return { chain, key, notBefore: new Date(certificate.validFrom), notAfter: new Date(certificate.validTo) }
}
