import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client, Contract, Deployment } from '@shoal/contract'
import { deploy, ended } from './deploy.ts'
import type { Shoal } from './shoal.ts'

/** The behaviour of a program, which the sim driver reads from SIM_BEHAVIOUR (runtime/src/sim/behaviour.ts). */
type Behaviour = Record<string, unknown>

/** A squid whose build and programs are simulated (SHOAL_RUNTIME=sim). */
export type PlayedSquid = {
  name: string
  slot: string
  tag?: string
  description?: string
  /** Of runtime/src/sim/sim-builder.ts. */
  build?: { takesMs?: number; prints?: string[]; fails?: { kind: string; message: string } }
  api?: Behaviour
  processors?: Record<string, Behaviour>
}

/** The caller of a deployment, with server and organization. */
export type Deployer = { shoal: Pick<Shoal, 'url'>; org: string; token: string; api: Client<Contract> }

/** Uploads the squid and requests its deployment; returns the deployment's id. */
export async function play(deployer: Deployer, squid: PlayedSquid): Promise<number> {
  const project = mkdtempSync(join(tmpdir(), 'shoal-played-'))
  try {
    for (const [file, content] of Object.entries(filesOf(squid))) writeFileSync(join(project, file), content)
    const { name, slot, tag } = squid
    return await deploy({ ...deployer, project }, { name, slot, ...(tag && { tag }) })
  } finally {
    rmSync(project, { recursive: true, force: true })
  }
}

/** As above, and waits until the deployment has ended, successfully or not. */
export const played = async (deployer: Deployer, squid: PlayedSquid): Promise<Deployment> =>
  ended(deployer, await play(deployer, squid))

function filesOf({ name, description, build = {}, api = {}, processors = { processor: {} } }: PlayedSquid) {
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
  }
}
