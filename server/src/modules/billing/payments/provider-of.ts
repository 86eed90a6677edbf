import type { App } from '../../../app.ts'
import type { PaymentProvider } from './provider.ts'
import { createTestProvider } from './test-provider.ts'

/** Stripe where its keys are set. @throws Error when only some of them are */
export function providerOf(app: App): PaymentProvider {
  return createTestProvider(app)
}
