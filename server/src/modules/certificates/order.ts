import type acme from 'acme-client'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import type { App } from '../../app.ts'
import { deleteChallenges, insertAccount, insertChallenge, selectAccountKey } from './store.ts'

export type OrderApp = Pick<App, 'db' | 'sealer' | 'config' | 'clock'>
export type ChallengeType = 'http-01' | 'tls-alpn-01'
export type IssuedCertificate = { chain: string; key: string; notBefore: Date; notAfter: Date }

export const accountContext = (directoryUrl: string): string => `acme account ${directoryUrl}`

/** Loads the library when it is needed: most installations and all commands never need it. */
export const loadAcme = async (): Promise<typeof acme> => (await import('acme-client')).default

const requestMs = 30_000

/**
 * Orders a certificate for one name, and proves control of the name with a challenge that every process of the installation can
 * respond to.
 * @throws Error with the authority's reason if it refuses, cannot reach this installation or does not respond
 */
export async function orderCertificate(app: OrderApp, name: string, type: ChallengeType): Promise<IssuedCertificate> {
  const library = await loadAcme()
  const client = await openClient(app, library)
  await deleteChallenges(app.db, name)
  try {
    const order = await client.createOrder({ identifiers: [{ type: 'dns', value: name }] })
    for (const authorization of await client.getAuthorizations(order))
      if (authorization.status !== 'valid') await proveControl(app, client, authorization, name, type)
    const [key, request] = await library.crypto.createCsr(
      { altNames: [name] },
      await library.crypto.createPrivateEcdsaKey(),
    )
    const chain = await client.getCertificate(await client.finalizeOrder(order, request))
    return verifyIssued(chain, key.toString(), name)
  } finally {
    await deleteChallenges(app.db, name)
  }
}

/** Opens the account of this installation, which is created with the first order. */
async function openClient({ db, sealer, config, clock }: OrderApp, library: typeof acme): Promise<acme.Client> {
  const directoryUrl = config.SHOAL_ACME_DIRECTORY_URL
  const context = accountContext(directoryUrl)
  if ((await selectAccountKey(db, directoryUrl)) === null) {
    const newKey = (await library.crypto.createPrivateEcdsaKey()).toString()
    await insertAccount(db, { directoryUrl, sealedKey: sealer.seal(newKey, context), createdAt: clock.now() })
  }
  // Read again, since another process may have saved its key first.
  const sealedKey = (await selectAccountKey(db, directoryUrl)) ?? ''
  const caFile = config.SHOAL_ACME_CA_FILE
  Object.assign(library.axios.defaults, {
    timeout: requestMs,
    // A failed order is retried later, with all its steps.
    acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 },
    proxy: false,
    ...(caFile === undefined ? {} : { httpsAgent: new Agent({ ca: await readFile(caFile), keepAlive: false }) }),
  })
  const client = new library.Client({
    directoryUrl,
    accountKey: sealer.open(sealedKey, context),
    backoffMin: 250,
    backoffMax: 8_000,
    backoffAttempts: 15,
  })
  await useAccount(client, config.SHOAL_ACME_EMAIL)
  return client
}

/** Finds or creates the account of the client's key. The library updates an existing one, and authorities refuse an update without an address. */
async function useAccount(client: acme.Client, email: string | undefined): Promise<void> {
  if (email !== undefined)
    return void (await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] }))
  // If the authority does not respond, the second call rejects with the cause.
  const exists = await client.createAccount({ onlyReturnExisting: true }).then(
    () => true,
    () => false,
  )
  if (!exists) await client.createAccount({ termsOfServiceAgreed: true })
}

async function proveControl(
  app: OrderApp,
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
