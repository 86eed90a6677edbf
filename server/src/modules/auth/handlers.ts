import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { withNotYet } from './not-yet.ts'
import type { Handlers } from '../call.ts'

export function authHandlers(_app: App): Handlers<Contract['auth']> {
  return withNotYet({}) as Handlers<Contract['auth']>
}
