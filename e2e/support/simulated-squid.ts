import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client, Contract, Deployment } from '@shoal/contract'
import { deploy, waitForDeployment } from './deploy.ts'
import type { Shoal } from './shoal.ts'

/** The behaviour of a program, which the sim driver reads from SIM_BEHAVIOUR (runtime/src/sim/behaviour.ts). */
type Behaviour = Record<string, unknown>

/** A squid whose build and programs are simulated (SHOAL_RUNTIME=sim). */
export type SimulatedSquid = {
  name: string
  slot: string
  tag?: string
  description?: string
  /** The behaviour of the build, which runtime/src/sim/sim-builder.ts reads. */
  build?: { takesMs?: number; whileExists?: string; prints?: string[]; fails?: { kind: string; message: string } }
  api?: Behaviour
  processors?: Record<string, Behaviour>
  /** Further files of the archive, by name. */
  files?: Record<string, string>
}

/** The server, organization and credentials for a deployment. */
export type Deployer = { shoal: Pick<Shoal, 'url'>; org: string; token: string; api: Client<Contract> }

/** Uploads the squid and requests its deployment; returns the deployment's id. */
export async function requestSimulatedDeploy(deployer: Deployer, squid: SimulatedSquid): Promise<number> {
  const project = mkdtempSync(join(tmpdir(), 'shoal-simulated-'))
  try {
    for (const [file, content] of Object.entries(filesOf(squid))) writeFileSync(join(project, file), content)
    const { name, slot, tag } = squid
    return await deploy({ ...deployer, project }, { name, slot, ...(tag && { tag }) })
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

/** Deploys the squid, and waits until the deployment has ended, successfully or not. */
export const deploySimulated = async (deployer: Deployer, squid: SimulatedSquid): Promise<Deployment> =>
  waitForDeployment(deployer, await requestSimulatedDeploy(deployer, squid))

function filesOf(squid: SimulatedSquid): Record<string, string> {
  const { name, description, build = {}, api = {}, processors = { processor: {} }, files = {} } = squid
  const section = (behaviour: Behaviour, indent: string) => [
    `${indent}cmd: [node, lib/main.js]`,
    ...(Object.keys(behaviour).length > 0
      ? [`${indent}env:`, `${indent}  SIM_BEHAVIOUR: '${JSON.stringify(behaviour)}'`]
      : []),
  ]
  const manifest = [
    'manifest_version: subsquid.io/v0.1',
    `name: ${name}`,
    ...(description ? [`description: ${description}`] : []),
    'deploy:',
    '  addons:',
    '    postgres:',
    '  # One program for each chain.',
    '  processor:',
    ...Object.entries(processors).flatMap(([processor, behaviour]) => [
      `    - name: ${processor}`,
      ...section(behaviour, '      '),
    ]),
    '  api:',
    ...section(api, '    '),
    '',
  ]
  return {
    'squid.yaml': manifest.join('\n'),
    'package.json': JSON.stringify({ name, version: '1.0.0', private: true, sim: build }),
    'package-lock.json': '{}',
    ...files,
  }
}
