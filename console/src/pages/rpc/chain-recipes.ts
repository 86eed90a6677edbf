import type { RpcChainDetails } from '@shoal/contract'
import type { Recipe } from '../../components/SetupGuide.tsx'

type Chain = Pick<RpcChainDetails, 'id' | 'type' | 'url' | 'manifestName'>

/** The name of the environment variable that the `rpc` addon sets in squids. */
const variableOf = (id: string): string => `RPC_${id.toUpperCase().replaceAll('-', '_')}_HTTP`

const exampleBodies: Record<Chain['type'], string> = {
  evm: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}',
  substrate: '{"jsonrpc":"2.0","id":1,"method":"chain_getHeader","params":[]}',
  solana: '{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[]}',
}

/** Returns the WebSocket URL of an endpoint: the same URL with another protocol. */
export const webSocketUrlOf = (url: string): string => url.replace(/^http/, 'ws')

/** Setup instructions for an endpoint. The displayed code has a placeholder instead of the token; the copied code contains the token. */
export function chainRecipes(chain: Chain, tokenUrl: string): Recipe[] {
  const variable = variableOf(chain.id)
  const withBothUrls = (render: (url: string) => string): Pick<Recipe, 'code' | 'textToCopy'> => ({
    code: render(chain.url),
    textToCopy: render(tokenUrl),
  })
  const recipes: (Recipe | null)[] = [
    {
      id: 'env',
      label: '.env',
      text: 'For a squid on your own machine: the same variable as in the cloud.',
      ...withBothUrls((url) => `${variable}=${url}`),
    },
    chain.manifestName === null
      ? null
      : {
          id: 'manifest',
          label: 'squid.yaml',
          text: `The addon sets ${variable}, including the token, so there is nothing to copy and no secret to store.`,
          code: `deploy:\n  addons:\n    rpc:\n      - ${chain.manifestName}`,
        },
    chain.type !== 'evm'
      ? null
      : {
          id: 'viem',
          label: 'viem',
          text: 'Calls made at the same time are sent as one batch.',
          ...withBothUrls(
            (url) =>
              `import { createPublicClient, http } from 'viem'\n\nconst client = createPublicClient({\n  transport: http('${url}', { batch: true }),\n})\n\nconsole.log(await client.getBlockNumber())`,
          ),
        },
    chain.type !== 'evm'
      ? null
      : {
          id: 'viem-websocket',
          label: 'viem WebSocket',
          text: 'New blocks and events arrive without polling.',
          ...withBothUrls(
            (url) =>
              `import { createPublicClient, webSocket } from 'viem'\n\nconst client = createPublicClient({\n  transport: webSocket('${webSocketUrlOf(url)}'),\n})\n\nclient.watchBlocks({\n  onBlock: (block) => console.log(block.number),\n})`,
          ),
        },
    chain.type !== 'evm'
      ? null
      : {
          id: 'ethers',
          label: 'ethers',
          text: 'Over HTTP, ethers polls for events. For subscriptions use WebSocketProvider with the WebSocket endpoint.',
          ...withBothUrls(
            (url) =>
              `import { JsonRpcProvider } from 'ethers'\n\nconst provider = new JsonRpcProvider(\n  '${url}',\n  undefined,\n  { polling: true },\n)\n\nconsole.log(await provider.getBlockNumber())`,
          ),
        },
    {
      id: 'curl',
      label: 'curl',
      text: 'One call, or an array of up to 1,000.',
      ...withBothUrls(
        (url) => `curl -H 'content-type: application/json' \\\n  -d '${exampleBodies[chain.type]}' \\\n  ${url}`,
      ),
    },
  ]
  return recipes.filter((recipe) => recipe !== null)
}
