import {
  createKubernetesDirectory,
  createKubernetesRuntime,
  egressTargets,
  openHostBuilder,
  openJobBuilder,
  type HostBuilderOptions,
} from '@shoal/runtime'
import { readFileSync } from 'node:fs'
import type { KubernetesSettings } from '../config/runtime-settings.ts'
import type { SquidBackend } from './squid-backend.ts'

/** Runs squids as pods of a cluster, and builds their images there or on this host. `installation`: the id of this installation. */
export function createKubernetesBackend(
  settings: KubernetesSettings,
  installation: string,
  builderOptions: HostBuilderOptions,
): SquidBackend {
  const { kubeconfig, kubeletCaFile, logListener, gateways, pullAuthFile, quota, cpuRequestRatio, runtimeClass } =
    settings
  const { builds, buildListener } = settings
  const { targets, containerDiskBytes, log } = builderOptions
  const clusterOptions = async () => ({
    installation,
    kubeconfig,
    quota,
    cpuRequestRatio,
    runtimeClass,
    containerDiskBytes,
    ingressFrom: gateways,
    egressTo: await egressTargets(targets.squid),
    registryAuth: pullAuthFile === null ? null : readFileSync(pullAuthFile, 'utf8'),
    log,
  })
  return {
    directory: createKubernetesDirectory({ installation, kubeconfig, log: builderOptions.log }),
    open: async () => {
      const cluster = await clusterOptions()
      const builder =
        builds === 'jobs'
          ? await openJobBuilder({ ...builderOptions, ...cluster, targets: targets.build, listen: buildListener })
          : (await openHostBuilder(builderOptions, 'in registry')).builder
      return { runtime: createKubernetesRuntime({ ...cluster, kubeletCaFile, logListener }), builder }
    },
    openRuntime: async () => createKubernetesRuntime({ ...(await clusterOptions()), kubeletCaFile, logListener: null }),
  }
}
