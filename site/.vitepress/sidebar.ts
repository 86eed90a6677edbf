import type { DefaultTheme } from 'vitepress'
import { apiAreas } from './generate/areas.ts'
import { operatorPages } from './generate/operator-pages.ts'

/** The links of the sidebar, in reading order. */
export const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Use Shoal',
    items: [
      { text: 'Get started', link: '/' },
      { text: 'Deploy', link: '/deploy' },
      { text: 'Operate a squid', link: '/operate' },
      { text: 'Status page', link: '/status-page' },
      { text: 'RPC and Portal', link: '/rpc' },
      { text: 'Organizations and billing', link: '/organizations' },
      { text: 'Move here from another cloud', link: '/move' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'CLI', link: '/cli' },
      {
        text: 'API',
        link: '/api/',
        collapsed: true,
        items: apiAreas.map(({ name, title }) => ({ text: title, link: `/api/${name}` })),
      },
    ],
  },
  {
    text: 'For operators',
    items: [
      { text: 'Overview', link: '/operators/' },
      ...operatorPages.map(({ name, title }) => ({ text: title, link: `/operators/${name}` })),
    ],
  },
]
