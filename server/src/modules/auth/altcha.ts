import { createChallenge, verifySolution, type Challenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { tryConsumeRateLimit } from './rate-limits.ts'
import { signingKey } from './signing-keys.ts'

/** A challenge remains valid for longer than users take to fill in the form. */
const lifetimeMs = minutes(60)

/**
 * Solving a challenge requires the derivation of about 256 keys, with 1,000 rounds each: fast for one user, expensive for millions of
 * attempts. Verifying a solution requires one key.
 */
const proofOfWork = { algorithm: 'PBKDF2/SHA-256', cost: 1_000, keyPrefix: '00' }

/** The widget's payload, decoded from base64. */
const SolvedChallenge = z.object({
  challenge: z.object({
    parameters: z.looseObject({
      nonce: z.string().max(200),
      salt: z.string().max(200),
      data: z.object({ expiresAtMs: z.number() }),
    }),
    signature: z.string().max(200),
  }),
  solution: z.object({ counter: z.number(), derivedKey: z.string().max(200) }),
})

/** Creates a signed challenge, whose solution is accepted once within an hour. */
export async function newChallenge(app: App): Promise<Challenge> {
  const expiresAtMs = app.clock.now().getTime() + lifetimeMs
  return createChallenge({
    ...proofOfWork,
    deriveKey,
    data: { expiresAtMs },
    hmacSignatureSecret: await hmacSecretOf(app),
  })
}

/** Verifies the payload of the widget. Returns false for a wrong or expired solution, and for one that was already used. */
export async function isAltchaSolved(app: App, payload: string): Promise<boolean> {
  const solved = readPayload(payload)
  if (!solved) return false
  const { challenge, solution } = solved
  const { verified } = await verifySolution({
    // The signature covers all parameters, including those that the schema does not name.
    challenge: challenge as unknown as Challenge,
    solution,
    deriveKey,
    hmacSignatureSecret: await hmacSecretOf(app),
  })
  const remainingMs = challenge.parameters.data.expiresAtMs - app.clock.now().getTime()
  if (!verified || remainingMs <= 0) return false
  const key = `challenge:${hashSecret(challenge.signature)}`
  return (await tryConsumeRateLimit(app, key, { calls: 1, perMs: lifetimeMs })).isAllowed
}

function readPayload(payload: string): z.infer<typeof SolvedChallenge> | null {
  try {
    return SolvedChallenge.parse(JSON.parse(Buffer.from(payload, 'base64').toString('utf8')))
  } catch {
    return null
  }
}

const hmacSecretOf = async (app: App) => Buffer.from(await signingKey(app, 'challenge')).toString('base64')
