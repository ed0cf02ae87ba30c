const http = require('node:http');
const { answer } = require('./routes');

http
  .createServer((request, response) => {
    const { status, body } = answer(request.url);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  })
  .listen(Number(process.env.PORT || 3000));
