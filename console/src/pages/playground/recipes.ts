import type { Recipe } from '../../components/SetupGuide.tsx'

/** Code to copy that sends a query to an endpoint, one recipe per tool. */
export function graphqlRecipes(url: string, query: string): Recipe[] {
  const oneLine = query.replaceAll(/\s+/g, ' ')
  return [
    {
      id: 'curl',
      label: 'cURL',
      text: 'One request from a terminal.',
      code: `curl -H 'content-type: application/json' \\\n  -d '${JSON.stringify({ query: oneLine })}' \\\n  ${url}`,
    },
    {
      id: 'graphql-request',
      label: 'graphql-request',
      text: 'Install it with npm i graphql-request graphql.',
      code: `import { gql, request } from 'graphql-request'\n\nconst query = gql\`${query}\`\n\nconsole.log(await request('${url}', query))`,
    },
    {
      id: 'fetch',
      label: 'fetch',
      text: 'Without a dependency, in Node.js and browsers.',
      code: `const response = await fetch('${url}', {\n  method: 'POST',\n  headers: { 'content-type': 'application/json' },\n  body: JSON.stringify({ query: \`${query}\` }),\n})\nconst { data, errors } = await response.json()\n\nconsole.log(errors ?? data)`,
    },
  ]
}
