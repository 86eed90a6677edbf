import { createChallenge, verifySolution, type Challenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { hashOf } from './api-token-key.ts'
import { tryToConsume } from './rate-limits.ts'
import { signingKey } from './signing-keys.ts'

/** Enough time to fill in a form. */
const lifetimeMs = minutes(60)

/** Takes about 256 keys of 1,000 rounds to solve: instant on a laptop, expensive by the million; one key to verify. */
const work = { algorithm: 'PBKDF2/SHA-256', cost: 1_000, keyPrefix: '00' }

/** Payload of the widget: base64 of JSON. */
const Solved = z.object({
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

/** A signed challenge, valid once within an hour. */
export async function newChallenge(app: App): Promise<Challenge> {
  const expiresAtMs = app.clock.now().getTime() + lifetimeMs
  return createChallenge({ ...work, deriveKey, data: { expiresAtMs }, hmacSignatureSecret: await secretOf(app) })
}

export async function isAltchaSolved(app: App, payload: string): Promise<boolean> {
  const solved = readPayload(payload)
  if (!solved) return false
  const { challenge, solution } = solved
  const { verified } = await verifySolution({
    // The signature covers all parameters, including those that the schema does not name.
    challenge: challenge as unknown as Challenge,
    solution,
    deriveKey,
    hmacSignatureSecret: await secretOf(app),
  })
  const leftMs = challenge.parameters.data.expiresAtMs - app.clock.now().getTime()
  if (!verified || leftMs <= 0) return false
  const key = `challenge:${hashOf(challenge.signature)}`
  return (await tryToConsume(app, key, { calls: 1, perMs: lifetimeMs })).isAllowed
}

function readPayload(payload: string): z.infer<typeof Solved> | null {
  try {
    return Solved.parse(JSON.parse(Buffer.from(payload, 'base64').toString('utf8')))
  } catch {
    return null
  }
}

const secretOf = async (app: App) => Buffer.from(await signingKey(app, 'challenge')).toString('base64')
