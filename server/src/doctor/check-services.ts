import { inspectCluster, inspectRegistry } from '@shoal/runtime'
import { openArtifactStore } from '../artifacts/open-artifact-store.ts'
import { checkNodes, type NodeState } from '../gateway/rpc/check-nodes.ts'
import { verifyMailServer } from '../mail/index.ts'
import { failed, ok, reasonOf, skipped, warning, type Check, type CheckResult } from './check.ts'

/** Signs in to the mail server. */
export const mailCheck: Check = {
  name: 'mail',
  run: async ({ config }) => {
    if (!config.SHOAL_MAIL_URL)
      return [
        warning(
          'mail',
          'no mail server: users cannot confirm their accounts, and alerts are not sent',
          'Set SHOAL_MAIL_URL and SHOAL_MAIL_FROM.',
        ),
      ]
    const { host } = new URL(config.SHOAL_MAIL_URL)
    try {
      await verifyMailServer(config)
      return [ok('mail', `${host} accepts the sign-in`)]
    } catch (error) {
      return [failed('mail', `${host}: ${reasonOf(error)}`, 'Check SHOAL_MAIL_URL, the password and the firewall.')]
    }
  },
}

/** Queries the nodes of RPC chains: a chain without a usable node fails. */
export const nodesCheck: Check = {
  name: 'RPC nodes',
  run: async ({ config }) => {
    const nodes = await checkNodes(config)
    if (nodes.length === 0) return [skipped('RPC nodes', 'none are configured')]
    return [...Map.groupBy(nodes, ({ chain }) => chain)].map(([chain, chainNodes]) =>
      chainResult(chain, chainNodes, config.SHOAL_RPC_CONFIG !== undefined),
    )
  },
}

function chainResult(chain: string, nodes: NodeState[], isConfigured: boolean): CheckResult {
  const broken = nodes.filter(({ problem }) => problem !== null)
  const finding = `${chain}: ${nodes.length - broken.length} of ${nodes.length} nodes respond`
  if (broken.length === 0) return ok('RPC nodes', finding)
  const reasons = broken.map(({ node, problem }) => `${node}: ${problem}`).join('; ')
  const remedy = isConfigured
    ? 'Check their URLs in SHOAL_RPC_CONFIG, and whether they run.'
    : 'Check whether this host reaches the internet, or set SHOAL_RPC_CONFIG to your own nodes (docs/rpc.md).'
  const result = broken.length === nodes.length && isConfigured ? failed : warning
  return result('RPC nodes', `${finding} (${reasons})`, remedy)
}

/** Signs in to the registry of images, if there is one. */
export const registryCheck: Check = {
  name: 'registry',
  run: async ({ config }) => {
    if (!config.registry) return [skipped('registry', 'not used (SHOAL_REGISTRY)')]
    try {
      await inspectRegistry(config.registry, AbortSignal.timeout(8_000))
      return [ok('registry', `${config.registry.registry} responds`)]
    } catch (error) {
      return [
        failed(
          'registry',
          reasonOf(error),
          'Check SHOAL_REGISTRY, SHOAL_REGISTRY_AUTH_FILE and its certificate (SHOAL_CA_FILE).',
        ),
      ]
    }
  },
}

/** Verifies the worker's rights in the Kubernetes cluster, if squids run there. Processes of other roles have fewer rights. */
export const clusterCheck: Check = {
  name: 'Kubernetes',
  run: async ({ config }) => {
    if (!config.kubernetes) return [skipped('Kubernetes', 'not used (SHOAL_RUNTIME)')]
    if (!config.SHOAL_ROLES.includes('worker'))
      return [skipped('Kubernetes', 'only the worker needs rights to change the cluster')]
    try {
      const missing = await inspectCluster(config.kubernetes.kubeconfig)
      return [
        missing === null
          ? ok('Kubernetes', 'the API server responds, and the credentials are sufficient')
          : failed('Kubernetes', missing, 'Grant these rights to its service account (docs/kubernetes.md, Rights).'),
      ]
    } catch (error) {
      return [failed('Kubernetes', reasonOf(error), 'Check SHOAL_KUBECONFIG and the API server.')]
    }
  },
}

/** Checks access to the S3 bucket of archives, if there is one. A gateway has no credentials for the bucket. */
export const bucketCheck: Check = {
  name: 'S3',
  run: async ({ config }) => {
    if (!config.s3) return [skipped('S3', 'not used (SHOAL_S3_BUCKET)')]
    const needsBucket = config.SHOAL_ROLES.some((role) => role !== 'gateway')
    if (!needsBucket) return [skipped('S3', 'a gateway does not read archives')]
    const store = await openArtifactStore(config, () => Promise.resolve('doctor'))
    try {
      await store.check()
      return [ok('S3', `bucket ${config.SHOAL_S3_BUCKET ?? ''} accepts the credentials`)]
    } catch (error) {
      return [failed('S3', reasonOf(error), 'Correct the setting that is named, or the policy of the bucket.')]
    } finally {
      store.close()
    }
  },
}
