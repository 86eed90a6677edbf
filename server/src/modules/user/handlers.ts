import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers } from '../call.ts'

export function userHandlers(_app: App): Handlers<Contract['user']> {
  return {} as Handlers<Contract['user']>
}
