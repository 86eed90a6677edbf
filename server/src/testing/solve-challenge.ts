import { solveChallenge, type Challenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import type { TestApp } from './test-app.ts'

/** Solves the bot check as a browser would. Returns the value for `turnstileToken`. */
export async function solveBotCheck(t: Pick<TestApp, 'http'>): Promise<string> {
  const response = await t.http.inject('/api/v1/auth/challenge')
  const challenge = response.json<Challenge>()
  const solution = await solveChallenge({ challenge, deriveKey })
  return Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')
}
