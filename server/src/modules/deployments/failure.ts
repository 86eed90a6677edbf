import type { DeploymentFailure } from '@shoal/contract'
import { BuildFailure, ClusterRefusal } from '@shoal/runtime'
import { InvalidManifest, UnknownSecrets } from '../manifest/index.ts'

/** The kinds of failures that end a deployment. */
export type FailureKind = Exclude<DeploymentFailure, 'NO'>

/** An error that ends a deployment. Its message says what failed and what users can do. */
export class DeployFailure extends Error {
  override name = 'DeployFailure'
  readonly kind: FailureKind
  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

type FailureContext = { orgCode: string; deploymentId: number }

/** Maps an error to a user-facing failure; null if it is not recognized. */
export function failureOf(error: unknown, context: FailureContext): DeployFailure | null {
  if (error instanceof DeployFailure) return error
  if (error instanceof ClusterRefusal) return new DeployFailure('REQUIREMENTS', error.message)
  if (error instanceof BuildFailure) return new DeployFailure(error.kind, error.message)
  if (error instanceof InvalidManifest)
    return new DeployFailure('REQUIRED_SOURCE_FILE_INVALID', `The manifest is not valid. ${error.message}`)
  if (error instanceof UnknownSecrets) return unknownSecretsFailure(error.names, context.orgCode)
  return null
}

/** The failure for internal errors. The stack is in the server's log; the message contains the deployment's id for support. */
export const unexpectedFailure = ({ deploymentId }: FailureContext): DeployFailure =>
  new DeployFailure(
    'UNEXPECTED',
    `Something failed on our side. Please deploy again. If it keeps failing, contact support about deployment ${deploymentId}.`,
  )

function unknownSecretsFailure(names: string[], orgCode: string): DeployFailure {
  const list = names.map((name) => `"${name}"`).join(', ')
  const commands = names.map((name) => `sqd secrets set ${name} <value> -o ${orgCode}`).join('; ')
  return new DeployFailure(
    'REQUIREMENTS',
    `The manifest uses ${names.length === 1 ? 'a secret' : 'secrets'} that organization ${orgCode} does not have: ${list}. Set ${names.length === 1 ? 'it' : 'them'} (${commands}) and deploy again.`,
  )
}
