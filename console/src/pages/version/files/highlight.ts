import hljs from 'highlight.js/lib/core'
import json from 'highlight.js/lib/languages/json'
import yaml from 'highlight.js/lib/languages/yaml'

hljs.registerLanguage('json', json)
hljs.registerLanguage('yaml', yaml)

export type Language = 'json' | 'yaml'

/** The code as HTML, with highlighted tokens and escaped text. */
export const highlight = (code: string, language: Language): string => hljs.highlight(code, { language }).value
