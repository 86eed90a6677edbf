import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { withNotYet } from '../auth/not-yet.ts'
import type { Handlers } from '../call.ts'

export function userHandlers(_app: App): Handlers<Contract['user']> {
  return withNotYet({}) as Handlers<Contract['user']>
}
