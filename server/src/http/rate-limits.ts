import type { RateLimit } from '@shoal/contract'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { App } from '../app.ts'
import { tooMany } from '../errors.ts'

const limiters = new WeakMap<App, Map<string, RateLimiterMemory>>()

/**
 * Counts one call of `who` against the endpoint's limit. Kept in memory: with several copies of the API each has its own count.
 * @throws Refusal 429 with how long to wait
 */
export async function consume(app: App, name: string, limit: RateLimit, who: string): Promise<void> {
  const ofApp = limiters.get(app) ?? new Map<string, RateLimiterMemory>()
  limiters.set(app, ofApp)
  const limiter = ofApp.get(name) ?? new RateLimiterMemory({ points: limit.calls, duration: limit.perMs / 1000 })
  ofApp.set(name, limiter)
  try {
    await limiter.consume(who)
  } catch (error) {
    if (error instanceof RateLimiterRes) throw tooMany(error.msBeforeNext)
    throw error
  }
}
