// Parse Server as its guide starts it, mounted in Express. FerretDB knows no collations and no indexes with a partial filter,
// hence those three indexes are left out and names are compared as they are.
import http from 'node:http'
import express from 'express'
import { ParseServer } from 'parse-server'
const server = new ParseServer({
  databaseURI: 'mongodb://10.88.2.2:27017/shop', appId: 'shop', masterKey: 'demo-master', masterKeyIps: ['0.0.0.0/0', '::0'], restAPIKey: 'demo-rest',
  serverURL: 'http://10.88.1.2:1337/parse', allowClientClassCreation: true, logLevel: 'error', enableCollationCaseComparison: true,
  databaseOptions: { createIndexUserUsernameCaseInsensitive: false, createIndexUserEmailCaseInsensitive: false, createIndexAuthDataUniqueness: false },
})
await server.start()
http.createServer(express().use('/parse', server.app)).listen(1337, '0.0.0.0', () => console.log('up'))
